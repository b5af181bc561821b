import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { reactionChains } from '../../../../app/commands/reactions/reaction-chains.js'
import type { RecordedEvent } from '../../../../domain/events.js'
import type { Clock, EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { reactingTypes } from '../../../../domain/reactions.js'
import { histories, historyOf, type History, type Step } from '../../../kit/domain/histories.js'
import { holdsAsync } from '../../../kit/domain/property.js'
import { at } from '../../../kit/domain/samples.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { rightOf } from '../../../kit/right-of.js'

/** A clock that nobody else has. */
const clockAt = (milliseconds: number): Clock => ({
  now: () => at(milliseconds),
  sleepUntil: () => Promise.reject(new Error('nothing waits here')),
})
const [early, late] = [clockAt(10_000_000), clockAt(20_000_000)]

/** The log as it was when `cause` had been appended, and nothing had followed from it. */
const logUpTo = async (history: History, cause: RecordedEvent) => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  for (const { stream, revision, position, ...event } of history) {
    if (position > cause.position) break
    rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
  }
  const count = eventsIn(log).length
  return { store, written: () => eventsIn(log).slice(count) }
}

const react = async (store: EventStore, clock: Clock, cause: RecordedEvent) => {
  const followed = await reactionChains().carryOutAll(sharedHandler(store, clock), [cause])
  return E.isLeft(followed) ? [] : followed.right.slice(1)
}

/** Without the position: an append tells only that of its last event. */
const bytesOf = (events: ReadonlyArray<RecordedEvent>): ReadonlyArray<string> =>
  events.map(({ position: _, ...event }) => JSON.stringify(Object.entries(event).toSorted()))

/** Whether anything followed from the event, after having looked that the same follows whoever carries it out. */
const isSameWhoeverRunsIt = async (history: History, cause: RecordedEvent): Promise<boolean> => {
  const [one, other, both] = await Promise.all([1, 2, 3].map(() => logUpTo(history, cause)))
  assert.ok(one && other && both)
  await react(one.store, early, cause)
  await react(other.store, late, cause)
  assert.deepEqual(bytesOf(one.written()), bytesOf(other.written()))

  const [first, second] = await Promise.all([react(both.store, early, cause), react(both.store, late, cause)])
  const stored = new Set(bytesOf(both.written()))
  assert.deepEqual([...stored].toSorted(), bytesOf(one.written()).toSorted())
  for (const went of [first, second]) for (const bytes of bytesOf(went)) assert.ok(stored.has(bytes), bytes)
  return stored.size > 0
}

const does = (what: Step['does'], how = 0): Step => ({ does: what, whom: 0, how, after: 1 })

/** Holds every reaction there is. */
const story = historyOf([
  does('open an account'),
  does('create a source'),
  does('add a webhook'),
  does('submit a lead'),
  does('submit a lead', 4),
  does('submit a lead', 3),
  { ...does('take a step', 4), whom: 2 },
  does('submit a lead', 1),
  { ...does('take a step', 2), whom: 3 },
  { ...does('write a text', 1), whom: 2 },
  does('make deliveries due', 1),
  does('give a delivery up'),
  does('record a conversion', 1),
  does('report an activity', 1),
  does('submit a lead', 8),
  does('begin the erasure of a contact'),
  does('submit a lead', 4),
  does('write a text'),
  does('write by hand'),
])

test('two that run one reaction write the same bytes, and go on with what is stored', async (t) => {
  const met = new Set<string>()
  for (const event of story) if (await isSameWhoeverRunsIt(story, event)) met.add(event.type)
  t.deepEqual([...met].toSorted(), [...reactingTypes].toSorted(), 'every reaction was run')
})

test('in any history two that run one reaction write the same bytes', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(histories, fc.nat(1_000), async (history, which) => {
      const causes = history.filter(({ type }) => reactingTypes.has(type))
      const cause = causes[which % causes.length]
      if (cause !== undefined) await isSameWhoeverRunsIt(history, cause)
    }),
    { numRuns: 60 },
  )
})
