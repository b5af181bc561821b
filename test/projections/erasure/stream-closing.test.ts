import test from 'ava'
import { newAggregate } from '../../../domain/aggregate.js'
import { contact, type ContactCommand } from '../../../domain/contact.js'
import { close } from '../../../projections/erasure/stream-closing.js'
import {
  accountId,
  at,
  contactId,
  details,
  engagementId,
  erasureId,
  leadId,
  playbookId,
  sourceId,
  uuid,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

const engage = (n: number): ContactCommand => ({
  type: 'EngageLead',
  contactId: contactId(),
  accountId: accountId(),
  leadId: leadId(n),
  sourceId: sourceId(),
  sourceTitle: 'Search ads',
  playbookId: playbookId(),
  engagementId: engagementId(n),
  details: details(),
  submittedAt: at(n),
})

test('however many leads came too late, a contact is closed and nothing of it is left', async (t) => {
  const store = memoryEventStore(memoryLog())
  const commandHandler = sharedHandler(store, manualClock())
  let ids = 0
  const envelope = { actor: 'test', eventId: () => uuid((ids += 1)) }
  const run = async (command: ContactCommand, assumed?: ReturnType<typeof newAggregate<typeof contact.initial>>) =>
    rightOf(await commandHandler.execute(contact, contactId(), command, envelope, assumed))
  await run(engage(1), newAggregate(contact))
  const erase: ContactCommand = { type: 'EraseContact', contactId: contactId(), erasureId: erasureId(), optHistory: [] }
  // At once, by who was asked: the process manager comes later.
  await run(erase)
  for (let n = 2; n < 250; n += 1) await run(engage(n))

  const closing = await close(
    { store, commandHandler },
    { decider: contact, id: contactId(), command: erase, by: 'ContactErased', envelope },
  )
  t.is(closing?.type, 'ContactErased')
  const { events } = rightOf(await store.read(`contact-${contactId()}`))
  t.is(events[0]?.type, 'ContactErased')
  t.is(events.length, 249)
})
