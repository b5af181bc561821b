import { binaryEvent, EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import test, { type ExecutionContext } from 'ava'
import { catchUp, SubscriptionDropped, type CatchUpBatch } from '../../../adapters/eventstoredb/log/catch-up.js'
import type { Connection } from '../../../adapters/eventstoredb/client/connection.js'
import { encodeEvent } from '../../../adapters/eventstoredb/event-codec.js'
import type { LogEntry } from '../../../adapters/in-process/log-tail.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import type { LoggedEvent } from '../../eventstoredb-double/log.js'
import { collect } from '../../eventstoredb-double/open-double.js'
import { eventIds, newEvent, newEvents } from '../../kit/domain/new-events.js'
import { positionAt } from '../../kit/domain/samples.js'
import { openConnection } from '../../kit/stores/eventstoredb.js'
import { nextTurn } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

const prefixes = ['account-', 'contact-']

/** Nobody aborts it. */
const never = new AbortController().signal

type Means = { readonly double: EventStoreDouble; readonly connection: Connection; readonly client: EventStoreDBClient }

/** `client` writes what others write. */
const open = async (t: ExecutionContext): Promise<Means> => {
  const { double, connection } = await openConnection(t)
  const client = EventStoreDBClient.connectionString(double.url)
  t.teardown(client.dispose)
  return { double, connection, client }
}

const writeOurs = async (client: EventStoreDBClient, count: number, first = 1): Promise<void> => {
  await client.appendToStream(`account-${first}`, newEvents(count, first).map(encodeEvent))
}

const writeOthers = async (client: EventStoreDBClient, count: number): Promise<void> => {
  const others = Array.from({ length: count }, () => jsonEvent({ type: 'Noted', data: {} }))
  await client.appendToStream('other-1', others)
}

const isOurs = ({ stream }: LoggedEvent): boolean => prefixes.some((prefix) => stream.startsWith(prefix))

/** What arrives until `isLast` says so. */
const batchesUntil = async (
  { connection }: Pick<Means, 'connection'>,
  from: Position,
  isLast: (batch: CatchUpBatch, all: ReadonlyArray<CatchUpBatch>) => boolean,
): Promise<ReadonlyArray<CatchUpBatch>> => {
  const all: Array<CatchUpBatch> = []
  for await (const batch of catchUp(connection.reads, from, prefixes, never)) {
    all.push(batch)
    if (isLast(batch, all)) break
  }
  return all
}

const untilCaughtUp = (means: Pick<Means, 'connection'>, from: Position) =>
  batchesUntil(means, from, ({ isCaughtUp }) => isCaughtUp)

/** These tests append nothing that can't be decoded. */
const recordedIn = (entry: LogEntry): RecordedEvent => {
  if ('failure' in entry) throw new Error(entry.failure.reason)
  return entry
}

const eventsOf = (batches: ReadonlyArray<CatchUpBatch>) => batches.flatMap(({ entries }) => entries.map(recordedIn))

/** Ends in the error that it ends with. */
const endOf = async (batches: AsyncIterator<CatchUpBatch>, all: Array<CatchUpBatch> = []): Promise<unknown> => {
  try {
    for (;;) {
      const next = await batches.next()
      if (next.done === true) return undefined
      all.push(next.value)
    }
  } catch (error) {
    return error
  }
}

test.serial('a position is never ahead of the events that were given, however slow the consumer is', async (t) => {
  const { double, connection, client } = await open(t)
  for (let n = 0; n < 12; n += 1) {
    await writeOurs(client, 150, 150 * n + 1)
    await writeOthers(client, 37 * n)
  }
  const ours = double.log().filter(isOurs)
  let given = 0
  let marked = 0
  for await (const { entries, position, isCaughtUp } of catchUp(connection.reads, beginning, prefixes, never)) {
    const events = entries.map(recordedIn)
    t.deepEqual(
      eventIds(events),
      ours.slice(given, given + events.length).map(({ id }) => id),
    )
    given += events.length
    const [last, next] = [ours[given - 1], ours[given]]
    t.true(position >= (last?.position ?? beginning))
    if (next !== undefined) t.true(position < next.position, `${given} were given`)
    if (position !== last?.position) marked += 1
    if (isCaughtUp) break
    // While the consumer is busy, the driver takes as much as it may.
    for (let turn = 0; turn < 400; turn += 1) await nextTurn()
  }
  t.is(given, ours.length)
  t.true(marked > 0, 'no position was that of a checkpoint')
})

test.serial('a checkpoint that is no position moves nothing: an empty log is caught up at its beginning', async (t) => {
  const means = await open(t)
  const empty = await untilCaughtUp(means, beginning)
  t.deepEqual(empty, [{ entries: [], position: beginning, isCaughtUp: true, truncations: [] }])
  await writeOurs(means.client, 2)
  t.deepEqual(eventIds(eventsOf(await untilCaughtUp(means, beginning))), eventIds(newEvents(2)))
})

test.serial('events of other streams move the position, in the history and live', async (t) => {
  const means = await open(t)
  const { double, connection, client } = means
  await writeOthers(client, 1000)
  const history = await untilCaughtUp(means, beginning)
  const head = positionAt(double.log().at(-1)?.position ?? 0)
  t.deepEqual(eventsOf(history), [])
  t.is(history.at(-1)?.position, head)

  const live = catchUp(connection.reads, head, prefixes, never)
  const first = await live.next()
  t.like(first, { done: false, value: { entries: [], position: head } })
  await writeOthers(client, 300)
  const next = await live.next()
  t.like(next, { done: false, value: { entries: [], isCaughtUp: false } })
  t.true(next.done !== true && next.value.position > head)
  await live.return(undefined)
})

test.serial('a subscription can go on from the position of a checkpoint', async (t) => {
  const means = await open(t)
  await writeOthers(means.client, 600)
  const [, middle] = await batchesUntil(means, beginning, (_, all) => all.length === 2 || all[0]?.isCaughtUp === true)
  const last = (await untilCaughtUp(means, beginning)).at(-1)
  await writeOurs(means.client, 3)
  for (const from of [middle?.position ?? beginning, last?.position ?? beginning]) {
    t.deepEqual(eventIds(eventsOf(await untilCaughtUp(means, from))), eventIds(newEvents(3)))
  }
})

test.serial('a subscription has caught up once all of the history was given, not earlier', async (t) => {
  const means = await open(t)
  await writeOurs(means.client, 1300)
  const batches = await untilCaughtUp(means, beginning)
  t.deepEqual(eventIds(eventsOf(batches)), eventIds(newEvents(1300)))
  t.deepEqual(
    batches.map(({ isCaughtUp }) => isCaughtUp),
    batches.map((_, index) => index === batches.length - 1),
  )
  t.true(batches.length > 1, 'a batch has five hundred events at most')
})

test.serial('a subscription to an empty log has caught up at once', async (t) => {
  const means = await open(t)
  const batches = await untilCaughtUp(means, beginning)
  t.deepEqual(eventsOf(batches), [])
})

for (const how of ['unavailable', 'cleanly'] as const) {
  test.serial(`a subscription that is cut ${how} gives everything that had arrived before it is dropped`, async (t) => {
    const { double, connection, client } = await open(t)
    await writeOurs(client, 400)
    double.faults.cutSubscriptions(300, 1, how)
    const batches: Array<CatchUpBatch> = []
    const subscription = catchUp(connection.reads, beginning, prefixes, never)
    const first = await subscription.next()
    if (first.done !== true) batches.push(first.value)
    await until('it is cut', 60_000, () => double.calls().cuts === 1)
    const error = await endOf(subscription, batches)
    t.true(error instanceof SubscriptionDropped)
    t.false((error as SubscriptionDropped).message.includes('account-'))
    t.deepEqual(eventIds(eventsOf(batches)), eventIds(newEvents(300)))
    t.is(batches.at(-1)?.position, positionAt(double.log()[299]?.position ?? 0))
    t.true(batches.every(({ isCaughtUp }) => !isCaughtUp))
  })
}

test.serial(
  'a consumer that is too slow for a live subscription is dropped, and can go on from where it was',
  async (t) => {
    const means = await open(t)
    const { double, connection, client } = means
    const subscription = catchUp(connection.reads, beginning, prefixes, never)
    const batches: Array<CatchUpBatch> = []
    for (let isCaughtUp = false; !isCaughtUp; isCaughtUp = batches.at(-1)?.isCaughtUp === true) {
      const next = await subscription.next()
      if (next.done !== true) batches.push(next.value)
    }
    double.faults.dropSlowSubscribers()
    let written = 0
    for (; double.calls().cuts === 0; written += 100) await writeOurs(client, 100, written + 1)
    t.true((await endOf(subscription, batches)) instanceof SubscriptionDropped)
    const given = eventsOf(batches).length
    t.true(given < written)
    batches.push(...(await untilCaughtUp(means, batches.at(-1)?.position ?? beginning)))
    t.deepEqual(eventIds(eventsOf(batches)), eventIds(newEvents(written)))
  },
)

test.serial('a subscription to a server that is away is dropped', async (t) => {
  const { double, connection } = await open(t)
  await double.stop()
  const error = await endOf(catchUp(connection.reads, beginning, prefixes, never))
  t.true(error instanceof SubscriptionDropped)
})

test.serial('an abort ends a subscription: before it begins, in its history and live', async (t) => {
  const { connection, client } = await open(t)
  await writeOurs(client, 1200)
  const before: Array<CatchUpBatch> = []
  t.is(await endOf(catchUp(connection.reads, beginning, prefixes, AbortSignal.abort()), before), undefined)
  t.deepEqual(before, [])

  const early = new AbortController()
  const events: Array<CatchUpBatch> = []
  for await (const batch of catchUp(connection.reads, beginning, prefixes, early.signal)) {
    if (batch.entries.length === 0) continue
    events.push(batch)
    early.abort()
  }
  t.is(events.length, 1)

  const late = new AbortController()
  const live = catchUp(connection.reads, beginning, prefixes, late.signal)
  for (let isCaughtUp = false; !isCaughtUp;) {
    const next = await live.next()
    isCaughtUp = next.done === true || next.value.isCaughtUp
  }
  const waiting = live.next()
  late.abort()
  t.deepEqual(await waiting, { done: true, value: undefined })
})

for (const [way, leave] of Object.entries({
  aborted: (_: AsyncGenerator<CatchUpBatch>, aborting: AbortController) => aborting.abort(),
  left: (subscription: AsyncGenerator<CatchUpBatch>) => void subscription.return(undefined),
})) {
  test.serial(`a subscription that was ${way} ends on the server too`, async (t) => {
    const { double, connection, client } = await open(t)
    const aborting = new AbortController()
    const subscription = catchUp(connection.reads, beginning, prefixes, aborting.signal)
    await subscription.next()
    leave(subscription, aborting)
    await endOf(subscription)
    // What comes later on the same connection is seen later.
    await nextTurn()
    await collect(connection.reads.current().readAll())
    double.faults.cutSubscriptions(1, 1)
    await writeOurs(client, 1)
    t.is(double.calls().cuts, 0)
  })
}

test.serial('events of other applications in streams with our prefixes are left out', async (t) => {
  const means = await open(t)
  const { double, client } = means
  await writeOurs(client, 1)
  await client.appendToStream('account-of-others', [
    jsonEvent({ type: 'AccountEnabled', data: {} }),
    jsonEvent({ type: 'AccountEnabled', data: {}, metadata: { version: 1 } }),
    jsonEvent({ type: 'AccountEnabled', data: {}, metadata: Buffer.from('"schema_version"') }),
    binaryEvent({ type: 'AccountEnabled', data: Buffer.from('{'), metadata: { schema_version: 1 } }),
  ])
  await client.appendToStream('accounts-of-others', encodeEvent(newEvent(7)))
  await writeOurs(client, 1, 2)
  const batches = await untilCaughtUp(means, beginning)
  t.deepEqual(eventIds(eventsOf(batches)), eventIds([newEvent(1), newEvent(2)]))
  const [alone] = double.log()
  await client.appendToStream('account-of-others', jsonEvent({ type: 'AccountEnabled', data: {} }))
  const last = positionAt(double.log().at(-1)?.position ?? 0)
  t.true(last > (alone?.position ?? beginning))
  t.is((await untilCaughtUp(means, beginning)).at(-1)?.position, last)
})
