import type { EventStoreDBClient } from '@eventstore/db-client'
import { status } from '@grpc/grpc-js'
import test, { type ExecutionContext } from 'ava'
import { performance } from 'node:perf_hooks'
import { connect } from '../../../adapters/eventstoredb/client/connection.js'
import type { ErrorClass } from '../../../adapters/eventstoredb/client/error-classification.js'
import { eventStoreDb } from '../../../adapters/eventstoredb/event-store.js'
import {
  reconnectingClient,
  type ReconnectingClient,
} from '../../../adapters/eventstoredb/client/reconnecting-client.js'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { beginning } from '../../../domain/event.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { eventIds, newEvent, newEvents } from '../../kit/domain/new-events.js'
import { longRetries, openEventStoreDb } from '../../kit/stores/eventstoredb.js'
import { rightOf } from '../../kit/right-of.js'
import { until } from '../../kit/time/until.js'

/** A time that can be set forward; it waits as the real one does. */
type SettableTime = MonotonicClock & { readonly forward: (milliseconds: number) => void }

const settableTime = (now = monotonicClock.now): SettableTime => {
  let ahead = 0
  return {
    now: () => now() + ahead,
    sleep: monotonicClock.sleep,
    forward: (milliseconds) => {
      ahead += milliseconds
    },
  }
}

/** Nobody listens there, and nobody is asked. */
const openClient = () => {
  const monotonic = settableTime(() => 0)
  const disposed: Array<EventStoreDBClient> = []
  const dispose = (old: EventStoreDBClient): Promise<void> => {
    disposed.push(old)
    return Promise.resolve()
  }
  return { client: reconnectingClient('esdb://127.0.0.1:1?tls=false', dispose, monotonic), disposed, monotonic }
}

const broken: ErrorClass = { kind: 'retryable', reason: 'broken', isClientBroken: true }
const transient: ErrorClass = { kind: 'retryable', reason: 'transient', isClientBroken: false }

/** Whether a call that fails so brings a new client. */
const isReplacedAfter = (client: ReconnectingClient, error: ErrorClass): boolean => {
  const before = client.current()
  client.failed(error)
  return client.current() !== before
}

test.serial('a client that may never recover is replaced, once a second at most', (t) => {
  const { client, disposed, monotonic } = openClient()
  const first = client.current()
  t.false(isReplacedAfter(client, broken), 'it is too young')
  monotonic.forward(900)
  t.false(isReplacedAfter(client, broken))
  monotonic.forward(200)
  t.true(isReplacedAfter(client, broken))
  t.deepEqual(disposed, [first])
  for (let failures = 0; failures < 10; failures += 1) t.false(isReplacedAfter(client, broken))
  monotonic.forward(900)
  t.false(isReplacedAfter(client, broken))
  monotonic.forward(200)
  t.true(isReplacedAfter(client, broken))
  t.is(disposed.length, 2)
})

test.serial('a client survives transient failures, unless the server has not answered for ten seconds', (t) => {
  const { client, monotonic } = openClient()
  monotonic.forward(9_000)
  t.false(isReplacedAfter(client, transient))
  client.answered()
  monotonic.forward(9_000)
  t.false(isReplacedAfter(client, transient))
  monotonic.forward(1_100)
  t.true(isReplacedAfter(client, transient))
  monotonic.forward(1_100)
  t.false(isReplacedAfter(client, transient), 'a new one has its own time')
})

test.serial('an answer that refuses a call replaces no client', (t) => {
  const { client, monotonic } = openClient()
  monotonic.forward(2_000)
  t.false(isReplacedAfter(client, { kind: 'not-found' }))
  t.false(isReplacedAfter(client, { kind: 'permanent', failure: { kind: 'conflict' } }))
})

test.serial('a client that is closed is disposed of, and so is each that was replaced before', async (t) => {
  const { client, disposed, monotonic } = openClient()
  const first = client.current()
  monotonic.forward(2_000)
  client.failed(broken)
  const second = client.current()
  await client.close()
  t.deepEqual(disposed, [first, second])
})

/** A store, its connection and its time. */
const open = async (t: ExecutionContext, policy = longRetries) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const monotonic = settableTime()
  const connection = rightOf(connect(double.url, monotonic))
  const store = eventStoreDb(connection, policy, monotonic)
  t.teardown(store.close)
  return { double, store, connection, monotonic }
}

test.serial('an append succeeds although the driver caches the failure of its first call', async (t) => {
  const { double, store } = await openEventStoreDb(t, { ...longRetries, backoff: { first: 50, longest: 200 } })
  double.faults.failProbes(status.INTERNAL, 1)
  t.true(E.isRight(await store.append('account-1', 'no-stream', newEvents(2))))
  t.deepEqual(
    double.log().map(({ id }) => id),
    eventIds(newEvents(2)),
  )
})

test.serial(
  'a server that fails the first call of every client does not bring a new client for every append',
  async (t) => {
    const { double, store, connection, monotonic } = await open(t, { ...longRetries, retryFor: 300 })
    const begun = performance.now()
    double.faults.failProbes(status.INTERNAL, 1_000)
    const seen = new Set<EventStoreDBClient>()
    const appends = Array.from({ length: 20 }, async (_, n) => {
      const appended = await store.append(`account-${n}`, 'no-stream', [newEvent(n)])
      seen.add(connection.appends.current())
      return appended
    })
    for (const appended of await Promise.all(appends)) t.like(appended, { left: { kind: 'unavailable' } })
    const elapsed = performance.now() - begun
    t.true(seen.size <= 1 + elapsed / 1_000, `${seen.size} clients in ${elapsed} ms`)
    double.faults.clear()
    monotonic.forward(1_100)
    for (let isWritten = false; !isWritten;) {
      isWritten = E.isRight(await store.append('account-1', 'no-stream', [newEvent(1)]))
    }
    t.false(seen.has(connection.appends.current()))
  },
)

test.serial('a subscription goes on when its client is replaced', async (t) => {
  const { store, connection, monotonic } = await open(t)
  const stopping = new AbortController()
  const seen: Array<string> = []
  const following = (async () => {
    for await (const { events } of store.subscribe(beginning, ['account'], stopping.signal)) {
      seen.push(...eventIds(events))
      if (seen.length === 2) stopping.abort()
    }
  })()
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  await until('the first event is there', 60_000, () => seen.length === 1)

  // A read that the server fails for an unknown reason replaces the client that the subscription began on.
  monotonic.forward(2_000)
  t.true(isReplacedAfter(connection.reads, broken))
  rightOf(await store.append('account-2', 'no-stream', [newEvent(2)]))
  await following
  t.deepEqual(seen, eventIds(newEvents(2)))
})

test.serial('a read whose client is replaced is retried, and its stream does not seem to be missing', async (t) => {
  const { double, store, connection, monotonic } = await open(t)
  const appended = rightOf(await store.append('account-1', 'no-stream', newEvents(3)))
  double.faults.beSilent()
  const reading = store.read('account-1')
  const heading = store.head()
  await until('both reads have arrived', 60_000, () => double.calls().reads === 2)
  monotonic.forward(2_000)
  t.true(isReplacedAfter(connection.reads, broken))
  await until('both were retried', 60_000, () => double.calls().reads === 4)
  double.faults.clear()
  t.like(await reading, { right: { revision: 2 } })
  t.deepEqual(await heading, E.right(appended.position))
})

test.serial('a stream does not seem to be missing to a read that a closing store interrupts', async (t) => {
  const { double, store } = await open(t)
  rightOf(await store.append('account-1', 'no-stream', newEvents(3)))
  double.faults.beSilent()
  const reading = store.read('account-1')
  await until('the read has arrived', 60_000, () => double.calls().reads === 1)
  await store.close()
  t.like(await reading, { left: { kind: 'unavailable' } })
})
