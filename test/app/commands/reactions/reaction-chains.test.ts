import test from 'ava'
import { systemClock } from '../../../../adapters/node/clock.js'
import { reactionChains } from '../../../../app/commands/reactions/reaction-chains.js'
import { newAggregate } from '../../../../domain/aggregate.js'
import { lead } from '../../../../domain/lead.js'
import type { EventStore } from '../../../../domain/ports.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { rightOf } from '../../../kit/right-of.js'
import { leadFacts, leadId, uuid } from '../../../kit/domain/samples.js'

test('the reactions to a new lead read no stream that they begin', async (t) => {
  const stored = memoryEventStore(memoryLog())
  const reads: Array<string> = []
  const store: EventStore = {
    ...stored,
    read: (stream) => {
      reads.push(stream)
      return stored.read(stream)
    },
  }
  const clock = systemClock(1)
  const handler = sharedHandler(store, clock)
  const submit = { type: 'SubmitLead', facts: leadFacts() } as const
  const cause = { actor: 'vendor', eventId: () => uuid(1) }
  const { events } = rightOf(await handler.execute(lead, leadId(), submit, cause, newAggregate(lead)))
  const appended = rightOf(await reactionChains(clock).follow(handler, events))
  t.true(appended.some(({ type }) => type === 'LeadEnrolled'))
  t.deepEqual(reads, [`lead-${leadId()}`])
})
