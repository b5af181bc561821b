import test, { type ExecutionContext } from 'ava'
import { mock } from 'node:test'
import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../adapters/node/clock.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { dispatcher } from '../../../app/commands/command-handler.js'
import { keptStreams } from '../../../app/commands/aggregate-cache.js'
import { logWatch } from '../../../app/commands/log-watch.js'
import { conversion } from '../../../domain/conversion.js'
import { categories } from '../../../domain/events.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { EventStore } from '../../../domain/ports.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import { newEvent } from '../../kit/events.js'
import { logOf } from '../../kit/log.js'
import { openSqlite } from '../../kit/open-sqlite.js'
import { rightOf } from '../../kit/right-of.js'
import { accountId, conversionId, uuid } from '../../kit/samples.js'

let ids = 0
const cause = {
  actor: 'test',
  eventId: () => {
    ids += 1
    return uuid(ids)
  },
}

/** A log that two processes write to. */
const open = async (t: ExecutionContext) => {
  const { port: store, close } = await openSqlite(sqliteEventStore)
  t.teardown(close)
  const process = () => {
    let reads = 0
    const counted: EventStore = {
      ...store,
      read: (stream) => {
        reads += 1
        return store.read(stream)
      },
    }
    const kept = keptStreams(true)
    const dispatch = dispatcher({ store: counted, clock: systemClock(1), kept, isShared: true })
    const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
    return {
      kept,
      reads: () => reads,
      /** Watches what the others write. */
      watch: () => {
        const watch = logWatch(store, kept)
        const following = follow(watch.follower, { store, logger: silent, pause: () => new Promise(setImmediate) })
        t.teardown(following.stop)
        return { ...watch, ...following }
      },
      /** Gives its position. */
      define: async (n: number): Promise<Position> => {
        const command = {
          type: 'DefineConversion',
          conversionId: conversionId(n),
          accountId: accountId(),
          title: 'Renewed',
          value: 1,
          label: 'custom_conversion',
        } as const
        const { events } = rightOf(await dispatch.execute(conversion, conversionId(n), command, cause))
        return events.at(-1)?.position ?? beginning
      },
      recent: async (n: number) => rightOf(await dispatch.recent(conversion, conversionId(n), () => true)).kind,
    }
  }
  return { store, here: process(), elsewhere: process() }
}

test('what others write is seen, and what was kept of it is forgotten', async (t) => {
  const { here, elsewhere } = await open(t)
  const { reached } = here.watch()
  t.is(await here.recent(1), 'unknown')
  t.is(await here.recent(1), 'unknown')
  t.is(here.reads(), 1)
  await reached(await elsewhere.define(1))
  t.is(await here.recent(1), 'defined')
  t.is(here.reads(), 2)
})

test('what others write elsewhere, and what was written here, leaves what is kept alone', async (t) => {
  const { here, elsewhere } = await open(t)
  const { reached } = here.watch()
  await reached(await here.define(1))
  await reached(await elsewhere.define(2))
  t.is(await here.recent(1), 'defined')
  t.is(here.reads(), 0)
})

test('what was written while nobody watched is not trusted', async (t) => {
  const { here, elsewhere } = await open(t)
  t.is(await here.recent(1), 'unknown')
  const position = await elsewhere.define(1)
  t.is(await here.recent(1), 'unknown', 'nobody has told it')
  await here.watch().reached(position)
  t.is(await here.recent(1), 'defined')
})

test('it begins at the head of the log', async (t) => {
  const { store, here, elsewhere } = await open(t)
  await elsewhere.define(1)
  rightOf(await store.append(`account-${accountId()}`, 'no-stream', [newEvent(1_000)]))
  const { follower, newestCause } = logWatch(store, here.kept)
  t.is(await follower.begin(), rightOf(await store.head()))
  t.is(newestCause(), beginning)
  t.deepEqual(follower.categories, categories)
})

test.serial('where nothing can be seen, nothing is kept for longer than five seconds', async (t) => {
  const { here, elsewhere } = await open(t)
  let now = performance.now()
  const mocked = mock.method(performance, 'now', () => now)
  t.teardown(() => mocked.mock.restore())
  t.is(await here.recent(1), 'unknown')
  await elsewhere.define(1)
  now += 4_900
  // The cache looks at the clock once a millisecond at most.
  await new Promise((resolve) => setTimeout(resolve, 5))
  t.is(await here.recent(1), 'unknown')
  now += 200
  await new Promise((resolve) => setTimeout(resolve, 5))
  t.is(await here.recent(1), 'defined')
})

test('the newest event that others follow from is known by its position', async (t) => {
  const { store, here } = await open(t)
  const { follower, newestCause } = logWatch(store, here.kept)
  const enabled = { type: 'AccountEnabled', data: {} } as const
  const names = ['playbook', 'account', 'conversion', 'webhook', 'delivery', 'lead', 'marketing_source']
  const log = logOf(...names.map((name) => [`${name}-1`, enabled] as const))
  const see = (...numbers: ReadonlyArray<number>): Promise<void> =>
    follower.handle({ events: numbers.flatMap((n) => log.slice(n - 1, n)), position: BigInt(numbers.at(-1) ?? 0) })
  await see(1)
  t.is(newestCause(), beginning, 'nothing follows from a playbook')
  await see(2, 3, 4)
  t.is(newestCause(), 2n)
  await see()
  t.is(newestCause(), 2n)
  await see(5, 6, 7)
  t.is(newestCause(), 6n)
})
