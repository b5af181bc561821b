import test from 'ava'
import { systemClock } from '../../../../adapters/node/clock.js'
import { reactionChains } from '../../../../app/commands/reactions/reaction-chains.js'
import { newAggregate } from '../../../../domain/aggregate.js'
import { beginning } from '../../../../domain/event.js'
import type { RecordedEvent } from '../../../../domain/events.js'
import { lead } from '../../../../domain/lead.js'
import type { CommandHandler, EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { newEvent } from '../../../kit/domain/new-events.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { reachable } from '../../../kit/parts/reachable.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { rightOf } from '../../../kit/right-of.js'
import { leadFacts, leadId, positionAt, uuid } from '../../../kit/domain/samples.js'

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
  const envelope = { actor: 'vendor', eventId: () => uuid(1) }
  const { events } = rightOf(await handler.execute(lead, leadId(), submit, envelope, newAggregate(lead)))
  const followed = await reactionChains().carryOutAll(handler, events)
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
  const envelope = { actor: 'vendor', eventId: () => uuid(1) }
  const { events } = rightOf(await stored.execute(lead, leadId(), submit, envelope))
  return { followed: await reactionChains().carryOutAll(handler, events), executed }
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
    t.regex(
      followed.left.failure.kind,
      /^an exception \(TypeError at app\/commands\/reactions\/reaction-chains\.[jt]s:\d+\)$/,
    )
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

/** Leads at the positions from 1 on, and a handler that writes nothing and fails while it is told to. */
const manyLeads = (count: number) => {
  let executed = 0
  let isAway = false
  const leads = Array.from({ length: count }, (_, n) => ({
    ...newEvent(n + 1, { type: 'LeadSubmitted', data: leadFacts({ lead_id: leadId(n + 1) }) }),
    stream: `lead-${leadId(n + 1)}`,
    revision: 0,
    position: positionAt(n + 1),
  })) as unknown as ReadonlyArray<RecordedEvent>
  const execute = () => {
    executed += 1
    return Promise.resolve(isAway ? E.left({ kind: 'unavailable', reason: 'away' }) : E.right({ events: [] }))
  }
  return {
    leads,
    handler: { execute } as unknown as CommandHandler,
    takeAway: (away: boolean) => void (isAway = away),
    executed: (): number => {
      const before = executed
      executed = 0
      return before
    },
  }
}

test('while the follower stands still no more of what is done waits for it than a bound, and that as ids alone', async (t) => {
  const { leads, handler, executed } = manyLeads(30_000)
  const chains = reactionChains()
  chains.handledUpTo(beginning)
  const { watch, count } = reachable()
  for (const one of leads) watch(await chains.carryOutAll(handler, [one]))
  t.is(executed(), 30_000)
  t.is(await count(), 0, 'what was appended is left to whoever asked for it')
  for (const one of leads) await chains.of(handler, one)
  t.is(executed(), 10_000, 'the follower carries out once more what was not remembered')
  chains.handledUpTo(positionAt(20_000))
  t.false(chains.hasUnfinished())
  for (const one of leads.slice(20_000)) await chains.carryOutAll(handler, [one])
  executed()
  for (const one of leads.slice(20_000)) await chains.of(handler, one)
  t.is(executed(), 0, 'what it has come to makes room')
})

test('what failed is unfinished until the follower has come to the newest of it, and however much it is a position waits', async (t) => {
  const { leads, handler, takeAway } = manyLeads(1_000)
  const chains = reactionChains()
  chains.handledUpTo(beginning)
  takeAway(true)
  // Chains end in any order: the newest is neither the first nor the last to fail.
  for (const one of [...leads.slice(500), ...leads.slice(0, 500)])
    t.true(E.isLeft(await chains.carryOutAll(handler, [one])))
  takeAway(false)
  const [first] = leads
  t.true(first !== undefined && E.isRight(await chains.carryOutAll(handler, [first])))
  t.true(chains.hasUnfinished())
  chains.handledUpTo(positionAt(999))
  t.true(chains.hasUnfinished())
  chains.handledUpTo(positionAt(1_000))
  t.false(chains.hasUnfinished())
})
