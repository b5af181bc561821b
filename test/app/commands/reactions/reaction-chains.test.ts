import test from 'ava'
import { systemClock } from '../../../../adapters/node/clock.js'
import { reactionChains } from '../../../../app/commands/reactions/reaction-chains.js'
import { newAggregate } from '../../../../domain/aggregate.js'
import { lead } from '../../../../domain/lead.js'
import type { CommandHandler, EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
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
  const followed = await reactionChains().follow(handler, events)
  t.true(E.isRight(followed) && followed.right.some(({ type }) => type === 'ActivityRecorded'))
  t.deepEqual(reads, [])
})

/** A chain of reactions to a new lead, in which the command of this type ends as `ending` says. */
const chainWith = async (type: string, ending: () => Promise<unknown>) => {
  const clock = systemClock(1)
  const stored = sharedHandler(memoryEventStore(memoryLog()), clock)
  const executed: Array<string> = []
  const handler: CommandHandler = {
    load: stored.load,
    execute: (decider, id, command, ...more) => {
      executed.push(command.type)
      if (command.type === type) return ending() as Promise<never>
      return stored.execute(decider, id, command, ...more)
    },
  }
  const submit = { type: 'SubmitLead', facts: leadFacts() } as const
  const cause = { actor: 'vendor', eventId: () => uuid(1) }
  const { events } = rightOf(await stored.execute(lead, leadId(), submit, cause))
  return { followed: await reactionChains().follow(handler, events), executed }
}

test('an exception inside a rule ends its chain, and neither the process nor the request', async (t) => {
  for (const ending of [
    () => Promise.reject(new TypeError('a value of a person')),
    (): never => {
      throw new TypeError('a value of a person')
    },
  ]) {
    const { followed } = await chainWith('StartEngagement', ending)
    t.true(E.isLeft(followed))
    if (E.isRight(followed)) continue
    t.deepEqual(followed.left.failure, { kind: 'an exception (TypeError)' })
    t.is(followed.left.event.type, 'ContactEngaged', 'the event that it follows from is named')
  }
})

test('what can not succeed further down the chain is left to its own event', async (t) => {
  const { followed, executed } = await chainWith('StartEngagement', () =>
    Promise.resolve(E.left({ kind: 'corrupt', reason: 'any' })),
  )
  t.true(E.isLeft(followed) && followed.left.event.type === 'ContactEngaged')
  t.deepEqual(executed, ['EngageLead', 'StartEngagement'])
})
