import { binaryEvent, EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import test, { type ExecutionContext } from 'ava'
import { catchUp, Dropped, type Arrival } from '../../../adapters/eventstoredb/catch-up.js'
import type { Connection } from '../../../adapters/eventstoredb/connection.js'
import { eventDataOf } from '../../../adapters/eventstoredb/recorded.js'
import type { LogEntry } from '../../../adapters/in-process/log-tail.js'
import { beginning, type Position, type Recorded } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import type { LoggedEvent } from '../../eventstoredb-double/log.js'
import { collect, until } from '../../eventstoredb-double/open-double.js'
import { idsOf, newEvent, newEvents } from '../../kit/events.js'
import { openConnection } from '../../kit/eventstoredb.js'

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
  await client.appendToStream(`account-${first}`, newEvents(count, first).map(eventDataOf))
}

const writeOthers = async (client: EventStoreDBClient, count: number): Promise<void> => {
  const others = Array.from({ length: count }, () => jsonEvent({ type: 'Noted', data: {} }))
  await client.appendToStream('other-1', others)
}

const isOurs = ({ stream }: LoggedEvent): boolean => prefixes.some((prefix) => stream.startsWith(prefix))

/** What arrives until `isLast` says so. */
const arrivalsUntil = async (
  { connection }: Pick<Means, 'connection'>,
  from: Position,
  isLast: (arrival: Arrival, all: ReadonlyArray<Arrival>) => boolean,
): Promise<ReadonlyArray<Arrival>> => {
  const all: Array<Arrival> = []
  for await (const arrival of catchUp(connection.reads, from, prefixes, never)) {
    all.push(arrival)
    if (isLast(arrival, all)) break
  }
  return all
}

const untilLive = (means: Pick<Means, 'connection'>, from: Position) =>
  arrivalsUntil(means, from, ({ isLive }) => isLive)

/** These tests append nothing that can't be decoded. */
const recordedIn = (entry: LogEntry): Recorded<DomainEvent> => {
  if ('failure' in entry) throw new Error(entry.failure.reason)
  return entry
}

const eventsOf = (arrivals: ReadonlyArray<Arrival>) => arrivals.flatMap(({ entries }) => entries.map(recordedIn))

/** Ends in the error that it ends with. */
const endOf = async (arrivals: AsyncIterator<Arrival>, all: Array<Arrival> = []): Promise<unknown> => {
  try {
    for (;;) {
      const next = await arrivals.next()
      if (next.done === true) return undefined
      all.push(next.value)
    }
  } catch (error) {
    return error
  }
}

test.serial('a position is never ahead of what was given, however slow the consumer is', async (t) => {
  const { double, connection, client } = await open(t)
  for (let n = 0; n < 12; n += 1) {
    await writeOurs(client, 150, 150 * n + 1)
    await writeOthers(client, 37 * n)
  }
  const ours = double.log().filter(isOurs)
  let given = 0
  let marked = 0
  for await (const { entries, position, isLive } of catchUp(connection.reads, beginning, prefixes, never)) {
    const events = entries.map(recordedIn)
    t.deepEqual(
      idsOf(events),
      ours.slice(given, given + events.length).map(({ id }) => id),
    )
    given += events.length
    const [last, next] = [ours[given - 1], ours[given]]
    t.true(position >= (last?.position ?? beginning))
    if (next !== undefined) t.true(position < next.position, `${given} were given`)
    if (position !== last?.position) marked += 1
    if (isLive) break
    // While the consumer is busy, the driver takes as much as it may.
    for (let turn = 0; turn < 400; turn += 1) await new Promise(setImmediate)
  }
  t.is(given, ours.length)
  t.true(marked > 0, 'no position was that of a checkpoint')
})

test.serial('events that are passed over move the position, in the history and live', async (t) => {
  const means = await open(t)
  const { double, connection, client } = means
  await writeOthers(client, 1000)
  const history = await untilLive(means, beginning)
  const head = double.log().at(-1)?.position ?? beginning
  t.deepEqual(eventsOf(history), [])
  t.is(history.at(-1)?.position, head)

  const live = catchUp(connection.reads, head, prefixes, never)
  const first = await live.next()
  t.like(first, { done: false, value: { entries: [], position: head } })
  await writeOthers(client, 300)
  const next = await live.next()
  t.like(next, { done: false, value: { entries: [], isLive: false } })
  t.true(next.done !== true && next.value.position > head)
  await live.return(undefined)
})

test.serial('the position of a checkpoint is one to go on from', async (t) => {
  const means = await open(t)
  await writeOthers(means.client, 600)
  const [, middle] = await arrivalsUntil(means, beginning, (_, all) => all.length === 2 || all[0]?.isLive === true)
  const last = (await untilLive(means, beginning)).at(-1)
  await writeOurs(means.client, 3)
  for (const from of [middle?.position ?? beginning, last?.position ?? beginning]) {
    t.deepEqual(idsOf(eventsOf(await untilLive(means, from))), idsOf(newEvents(3)))
  }
})

test.serial('the end of the history is told once all of it was given', async (t) => {
  const means = await open(t)
  await writeOurs(means.client, 1300)
  const arrivals = await untilLive(means, beginning)
  t.deepEqual(idsOf(eventsOf(arrivals)), idsOf(newEvents(1300)))
  t.deepEqual(
    arrivals.map(({ isLive }) => isLive),
    arrivals.map((_, index) => index === arrivals.length - 1),
  )
  t.true(arrivals.length > 1, 'a batch has five hundred events at most')
})

test.serial('a history without anything is at its end at once', async (t) => {
  const means = await open(t)
  const arrivals = await untilLive(means, beginning)
  t.deepEqual(eventsOf(arrivals), [])
})

for (const how of ['unavailable', 'cleanly'] as const) {
  test.serial(`a subscription that is cut ${how} is dropped after everything that had arrived`, async (t) => {
    const { double, connection, client } = await open(t)
    await writeOurs(client, 400)
    double.faults.cutSubscriptions(300, 1, how)
    const arrivals: Array<Arrival> = []
    const subscription = catchUp(connection.reads, beginning, prefixes, never)
    const first = await subscription.next()
    if (first.done !== true) arrivals.push(first.value)
    await until(() => double.calls().cuts === 1)
    const error = await endOf(subscription, arrivals)
    t.true(error instanceof Dropped)
    t.false((error as Dropped).message.includes('account-'))
    t.deepEqual(idsOf(eventsOf(arrivals)), idsOf(newEvents(300)))
    t.is(arrivals.at(-1)?.position, double.log()[299]?.position)
    t.true(arrivals.every(({ isLive }) => !isLive))
  })
}

test.serial(
  'a reader that is too slow for a live subscription is dropped, and goes on from where it was',
  async (t) => {
    const means = await open(t)
    const { double, connection, client } = means
    const subscription = catchUp(connection.reads, beginning, prefixes, never)
    const arrivals: Array<Arrival> = []
    for (let isLive = false; !isLive; isLive = arrivals.at(-1)?.isLive === true) {
      const next = await subscription.next()
      if (next.done !== true) arrivals.push(next.value)
    }
    double.faults.dropSlowSubscribers()
    let written = 0
    for (; double.calls().cuts === 0; written += 100) await writeOurs(client, 100, written + 1)
    t.true((await endOf(subscription, arrivals)) instanceof Dropped)
    const given = eventsOf(arrivals).length
    t.true(given < written)
    arrivals.push(...(await untilLive(means, arrivals.at(-1)?.position ?? beginning)))
    t.deepEqual(idsOf(eventsOf(arrivals)), idsOf(newEvents(written)))
  },
)

test.serial('a server that is not there drops a subscription', async (t) => {
  const { double, connection } = await open(t)
  await double.stop()
  const error = await endOf(catchUp(connection.reads, beginning, prefixes, never))
  t.true(error instanceof Dropped)
})

test.serial('an abort ends it: before it begins, with events at hand and live', async (t) => {
  const { connection, client } = await open(t)
  await writeOurs(client, 1200)
  const before: Array<Arrival> = []
  t.is(await endOf(catchUp(connection.reads, beginning, prefixes, AbortSignal.abort()), before), undefined)
  t.deepEqual(before, [])

  const early = new AbortController()
  const events: Array<Arrival> = []
  for await (const arrival of catchUp(connection.reads, beginning, prefixes, early.signal)) {
    if (arrival.entries.length === 0) continue
    events.push(arrival)
    early.abort()
  }
  t.is(events.length, 1)

  const late = new AbortController()
  const live = catchUp(connection.reads, beginning, prefixes, late.signal)
  for (let isLive = false; !isLive;) {
    const next = await live.next()
    isLive = next.done === true || next.value.isLive
  }
  const waiting = live.next()
  late.abort()
  t.deepEqual(await waiting, { done: true, value: undefined })
})

for (const [way, leave] of Object.entries({
  aborted: (_: AsyncGenerator<Arrival>, aborting: AbortController) => aborting.abort(),
  left: (subscription: AsyncGenerator<Arrival>) => void subscription.return(undefined),
})) {
  test.serial(`a subscription that was ${way} is over on the server too`, async (t) => {
    const { double, connection, client } = await open(t)
    const aborting = new AbortController()
    const subscription = catchUp(connection.reads, beginning, prefixes, aborting.signal)
    await subscription.next()
    leave(subscription, aborting)
    await endOf(subscription)
    // What comes later on the same connection is seen later.
    await new Promise(setImmediate)
    await collect(connection.reads.now().readAll())
    double.faults.cutSubscriptions(1, 1)
    await writeOurs(client, 1)
    t.is(double.calls().cuts, 0)
  })
}

test.serial('what other applications write to streams with our prefixes is passed over', async (t) => {
  const means = await open(t)
  const { double, client } = means
  await writeOurs(client, 1)
  await client.appendToStream('account-of-others', [
    jsonEvent({ type: 'AccountEnabled', data: {} }),
    jsonEvent({ type: 'AccountEnabled', data: {}, metadata: { version: 1 } }),
    jsonEvent({ type: 'AccountEnabled', data: {}, metadata: Buffer.from('"schema_version"') }),
    binaryEvent({ type: 'AccountEnabled', data: Buffer.from('{'), metadata: { schema_version: 1 } }),
  ])
  await client.appendToStream('accounts-of-others', eventDataOf(newEvent(7)))
  await writeOurs(client, 1, 2)
  const arrivals = await untilLive(means, beginning)
  t.deepEqual(idsOf(eventsOf(arrivals)), idsOf([newEvent(1), newEvent(2)]))
  const [alone] = double.log()
  await client.appendToStream('account-of-others', jsonEvent({ type: 'AccountEnabled', data: {} }))
  const last = double.log().at(-1)?.position ?? beginning
  t.true(last > (alone?.position ?? beginning))
  t.is((await untilLive(means, beginning)).at(-1)?.position, last)
})
