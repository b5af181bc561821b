import { jsonEvent } from '@eventstore/db-client'
import test from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import type { EventStore } from '../../../domain/ports.js'
import { append, enabled, eventsUntilMarker, freshStream, idsOf, many } from '../../contracts/event-store-fixtures.js'
import { rightOf } from '../../kit/right-of.js'
import { clientOf } from '../../eventstoredb-double/open-double.js'
import { openEventStoreDb, storeAt } from '../../kit/stores/eventstoredb.js'

/** What is given of a stream to a subscription that begins now. */
const givenOf = async (store: EventStore, stream: string): Promise<ReadonlyArray<string>> => {
  const marker = freshStream('engagement')
  await append(store, marker, 'no-stream', [enabled()])
  const given = await eventsUntilMarker(store, beginning, ['account', 'engagement'], marker)
  return idsOf(given.filter((event) => event.stream === stream))
}

test.serial('what another process truncated is given to no subscription that begins afterwards', async (t) => {
  const { store, double } = await openEventStoreDb(t)
  const other = storeAt(t, double.url)
  const stream = freshStream('account')
  await givenOf(other, stream)
  const start = rightOf(await other.head())
  const written = await append(store, stream, 'no-stream', many(3))
  t.deepEqual(await givenOf(other, stream), idsOf(written))
  rightOf(await store.truncate(stream, 2))
  await givenOf(other, stream)
  const marker = freshStream('engagement')
  await append(other, marker, 'no-stream', [enabled()])
  const given = await eventsUntilMarker(other, start, ['account', 'engagement'], marker)
  t.deepEqual(idsOf(given.filter((event) => event.stream === stream)), idsOf(written.slice(2)))
})

test.serial('what is truncated before this process was told of it is given to no later subscription', async (t) => {
  const { store, double } = await openEventStoreDb(t)
  const stream = freshStream('account')
  await givenOf(store, stream)
  const start = rightOf(await store.head())
  double.faults.muteSubscriptions()
  const written = await append(store, stream, 'no-stream', many(3))
  rightOf(await store.truncate(stream, 2))
  double.faults.clear()
  const marker = freshStream('engagement')
  await append(store, marker, 'no-stream', [enabled()])
  const given = await eventsUntilMarker(store, start, ['account', 'engagement'], marker)
  t.deepEqual(idsOf(given.filter((event) => event.stream === stream)), idsOf(written.slice(2)))
})

test.serial('whoever had come to an event that a scavenge took goes on behind it', async (t) => {
  const { store, double } = await openEventStoreDb(t)
  const stream = freshStream('account')
  const written = await append(store, stream, 'no-stream', many(3))
  const [, second] = written
  rightOf(await store.truncate(stream, 2))
  double.scavenge()
  const marker = freshStream('engagement')
  await append(store, marker, 'no-stream', [enabled()])
  const after = second?.position ?? beginning
  const given = await eventsUntilMarker(store, after, ['account', 'engagement'], marker)
  t.deepEqual(
    given.map((event) => event.stream),
    [stream, marker],
  )
})

test.serial(
  'a truncation that an older version named holds, and whoever reads one category reads none of another',
  async (t) => {
    const { store, double } = await openEventStoreDb(t)
    const [stream, other] = [freshStream('account'), freshStream('engagement')]
    const written = await append(store, stream, 'no-stream', many(3))
    await append(store, other, 'no-stream', many(3))
    rightOf(await store.truncate(other, 2))
    const client = clientOf(t, double.url)
    await client.appendToStream('truncation-log', jsonEvent({ type: 'StreamTruncated', data: { stream, before: 2 } }))
    const before = double.streamsRead().length
    const given = []
    for await (const { events } of store.history(beginning, ['account'], neverAborted)) given.push(...events)
    t.deepEqual(idsOf(given), idsOf(written.slice(2)))
    t.deepEqual(double.streamsRead().slice(before).toSorted(), ['truncation-log', 'truncation-log-account'])
  },
)
