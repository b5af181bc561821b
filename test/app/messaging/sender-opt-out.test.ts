import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { saidByStrangers } from '../../../app/messaging/sender-opt-out.js'
import { contact } from '../../../domain/contact.js'
import {
  accountId,
  at,
  contactId,
  details,
  engagementId,
  leadId,
  messageId,
  playbookId,
  sourceId,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

test('an opt-out of a contact that no read model shows yet is told to its conversation, as that of any other', async (t) => {
  const clock = manualClock()
  const { uuid } = randomIds(clock)
  const commandHandler = sharedHandler(memoryEventStore(memoryLog()), clock)
  const execute: ClientCommands['execute'] = (decider, id, command, actor) =>
    commandHandler.execute(decider, id, command, { actor, eventId: uuid })
  const [begun, stranger] = [1, 2].map((n) => ({
    ...{ accountId: accountId(n), contactId: contactId(n), messageId: messageId(n) },
    ...{ isKnown: false, sender: '+14155550100' },
  }))
  if (begun === undefined || stranger === undefined) throw new Error('nobody is addressed')
  const engage = {
    type: 'EngageLead',
    ...{ contactId: contactId(1), accountId: accountId(1), leadId: leadId(), sourceId: sourceId() },
    ...{ sourceTitle: 'Search ads', playbookId: playbookId(), engagementId: engagementId(), details: details() },
    ...{ submittedAt: at(), at: at() },
  } as const
  rightOf(await execute(contact, contactId(1), engage, 'test'))

  const known = await saidByStrangers(
    { commandHandler, clientCommands: { execute } },
    'opted_out',
    [begun, stranger],
    'test',
  )
  t.deepEqual(rightOf(known), [{ ...begun, isKnown: true }])
  const stateOf = async (n: number) => rightOf(await commandHandler.load(contact, contactId(n))).state
  t.like(await stateOf(1), { kind: 'known', unconverted: [engagementId()] })
  t.deepEqual(await stateOf(2), { kind: 'unknown', optedOut: true })
})
