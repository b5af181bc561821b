import type { EventStoreDBClient } from '@eventstore/db-client'
import { status } from '@grpc/grpc-js'
import test, { type ExecutionContext } from 'ava'
import { mock } from 'node:test'
import { performance } from 'node:perf_hooks'
import { eventStoreDb } from '../../../adapters/eventstoredb/event-store.js'
import { connect } from '../../../adapters/eventstoredb/connection.js'
import type { Meaning } from '../../../adapters/eventstoredb/failure.js'
import { healingClient, type HealingClient } from '../../../adapters/eventstoredb/healing-client.js'
import { beginning } from '../../../domain/event.js'
import { E } from '../../../domain/prelude.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { until } from '../../eventstoredb-double/open-double.js'
import { idsOf, newEvent, newEvents } from '../../kit/events.js'
import { calm, openEventStoreDb } from '../../kit/eventstoredb.js'
import { rightOf } from '../../kit/right-of.js'

/** The clock that the client looks at, which jumps ahead of the real one. */
type Ahead = { readonly by: (milliseconds: number) => void }

const clockAhead = (t: ExecutionContext, now = performance.now.bind(performance)): Ahead => {
  let ahead = 0
  const mocked = mock.method(performance, 'now', () => now() + ahead)
  t.teardown(() => mocked.mock.restore())
  return {
    by: (milliseconds) => {
      ahead += milliseconds
    },
  }
}

/** Nobody listens there, and nobody is asked. */
const openClient = (t: ExecutionContext) => {
  const ahead = clockAhead(t, () => 0)
  const disposed: Array<EventStoreDBClient> = []
  const client = healingClient('esdb://127.0.0.1:1?tls=false', (old) => {
    disposed.push(old)
    return Promise.resolve()
  })
  return { client, disposed, ahead }
}

const broken: Meaning = { kind: 'again', reason: 'broken', isBroken: true }
const passing: Meaning = { kind: 'again', reason: 'passing', isBroken: false }

/** Whether this failure brings a new client. */
const renews = (client: HealingClient, meaning: Meaning): boolean => {
  const before = client.now()
  client.failed(meaning)
  return client.now() !== before
}

test.serial('a client that may never recover is replaced, once a second at most', (t) => {
  const { client, disposed, ahead } = openClient(t)
  const first = client.now()
  t.false(renews(client, broken), 'it is too young')
  ahead.by(900)
  t.false(renews(client, broken))
  ahead.by(200)
  t.true(renews(client, broken))
  t.deepEqual(disposed, [first])
  for (let failures = 0; failures < 10; failures += 1) t.false(renews(client, broken))
  ahead.by(900)
  t.false(renews(client, broken))
  ahead.by(200)
  t.true(renews(client, broken))
  t.is(disposed.length, 2)
})

test.serial('a failure that passes replaces nothing, unless nothing was heard for long', (t) => {
  const { client, ahead } = openClient(t)
  ahead.by(9_000)
  t.false(renews(client, passing))
  client.answered()
  ahead.by(9_000)
  t.false(renews(client, passing))
  ahead.by(1_100)
  t.true(renews(client, passing))
  ahead.by(1_100)
  t.false(renews(client, passing), 'a new one has its own time')
})

test.serial('an answer that says no replaces nothing', (t) => {
  const { client, ahead } = openClient(t)
  ahead.by(2_000)
  t.false(renews(client, { kind: 'missing' }))
  t.false(renews(client, { kind: 'final', failure: { kind: 'conflict' } }))
})

test.serial('a client that is closed is disposed of, and so is each that it replaced', async (t) => {
  const { client, disposed, ahead } = openClient(t)
  const first = client.now()
  ahead.by(2_000)
  client.failed(broken)
  const second = client.now()
  await client.close()
  t.deepEqual(disposed, [first, second])
})

/** A store, its connection and a clock. */
const openAhead = async (t: ExecutionContext, patience = calm) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const ahead = clockAhead(t)
  const connection = rightOf(connect(double.url))
  const store = eventStoreDb(connection, patience)
  t.teardown(store.close)
  return { double, store, connection, ahead }
}

test.serial('a first call that failed for good, to the driver, heals within one append', async (t) => {
  const { double, store } = await openEventStoreDb(t, { ...calm, pause: [50, 200] })
  double.faults.failProbes(status.INTERNAL, 1)
  t.true(E.isRight(await store.append('account-1', 'no-stream', newEvents(2))))
  t.deepEqual(
    double.log().map(({ id }) => id),
    idsOf(newEvents(2)),
  )
})

test.serial('clients that the first call keeps failing are not made by the dozen', async (t) => {
  const { double, store, connection, ahead } = await openAhead(t, { ...calm, inAll: 300 })
  const begun = performance.now()
  double.faults.failProbes(status.INTERNAL, 1_000)
  const seen = new Set<EventStoreDBClient>()
  const appends = Array.from({ length: 20 }, async (_, n) => {
    const appended = await store.append(`account-${n}`, 'no-stream', [newEvent(n)])
    seen.add(connection.appends.now())
    return appended
  })
  for (const appended of await Promise.all(appends)) t.like(appended, { left: { kind: 'unavailable' } })
  const took = performance.now() - begun
  t.true(seen.size <= 1 + took / 1_000, `${seen.size} clients in ${took} ms`)
  double.faults.clear()
  ahead.by(1_100)
  for (let isWritten = false; !isWritten;) {
    isWritten = E.isRight(await store.append('account-1', 'no-stream', [newEvent(1)]))
  }
  t.false(seen.has(connection.appends.now()))
})

test.serial('a subscription outlives the client that it began on', async (t) => {
  const { store, connection, ahead } = await openAhead(t)
  const stopping = new AbortController()
  const seen: Array<string> = []
  const following = (async () => {
    for await (const { events } of store.subscribe(beginning, ['account'], stopping.signal)) {
      seen.push(...idsOf(events))
      if (seen.length === 2) stopping.abort()
    }
  })()
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  await until(() => seen.length === 1)

  // Any read that the server fails for no known reason costs the client that the subscription is on.
  ahead.by(2_000)
  t.true(renews(connection.reads, broken))
  rightOf(await store.append('account-2', 'no-stream', [newEvent(2)]))
  await following
  t.deepEqual(seen, idsOf(newEvents(2)))
})

test.serial('a read whose client is replaced is asked again, and does not pass for a missing stream', async (t) => {
  const { double, store, connection, ahead } = await openAhead(t)
  const appended = rightOf(await store.append('account-1', 'no-stream', newEvents(3)))
  double.faults.beSilent()
  const reading = store.read('account-1')
  const heading = store.head()
  await until(() => double.calls().reads === 2)
  ahead.by(2_000)
  t.true(renews(connection.reads, broken))
  await until(() => double.calls().reads === 4)
  double.faults.clear()
  t.like(await reading, { right: { revision: 2 } })
  t.deepEqual(await heading, E.right(appended.position))
})

test.serial('a read that a closing store cuts off does not pass for a missing stream', async (t) => {
  const { double, store } = await openAhead(t)
  rightOf(await store.append('account-1', 'no-stream', newEvents(3)))
  double.faults.beSilent()
  const reading = store.read('account-1')
  await until(() => double.calls().reads === 1)
  await store.close()
  t.like(await reading, { left: { kind: 'unavailable' } })
})
