import {
  END,
  eventTypeFilter,
  excludeSystemEvents,
  START,
  streamNameFilter,
  UnknownError,
  type EventStoreDBClient,
  type Filter,
  type Position,
  type ResolvedEvent,
} from '@eventstore/db-client'
import test from 'ava'
import { once } from 'node:events'
import { clientOf, collect, event, many, openDouble } from './open-double.js'

/** The checkpoints of a subscription up to the one with which it goes live. */
const checkpointsOf = async (
  client: EventStoreDBClient,
  filter: (checkpointReached: (subscription: unknown, position: Position) => void) => Filter,
): Promise<ReadonlyArray<bigint>> => {
  const reached: Array<bigint> = []
  const subscription = client.subscribeToAll({ filter: filter((_subscription, { commit }) => reached.push(commit)) })
  await once(subscription, 'caughtUp')
  await subscription.unsubscribe()
  return reached
}

type Following = AsyncIterable<ResolvedEvent> & { readonly unsubscribe: () => Promise<void> }

/** The ids of so many events of a subscription that goes on. */
const take = async (subscription: Following, count: number): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for await (const { event } of subscription) {
    ids.push(event?.id ?? '')
    if (ids.length < count) continue
    await subscription.unsubscribe()
    break
  }
  return ids
}

test.serial('checkpoints come after each interval times window of events, and when it goes live', async (t) => {
  const { double, client } = await openDouble(t)
  // The numbers are a real server's: they fit a log of 11,999 events, and one of an event more.
  const ofSystem = (await collect(client.readAll())).length
  for (const count of [5000, 5000, 1999 - ofSystem]) await client.appendToStream('note-1', many(count))
  const head = (): bigint | undefined => double.log().at(-1)?.position
  const prefixes = ['other-']

  const wide = await checkpointsOf(client, (checkpointReached) =>
    streamNameFilter({ prefixes, maxSearchWindow: 100, checkpointInterval: 1, checkpointReached }),
  )
  t.is(wide.length, 120)
  const rare = await checkpointsOf(client, (checkpointReached) =>
    streamNameFilter({ prefixes, maxSearchWindow: 32, checkpointInterval: 5, checkpointReached }),
  )
  t.is(rare.length, 75)
  for (const checkpoints of [wide, rare]) {
    t.is(checkpoints.at(-1), head())
    t.true(checkpoints.every((position, index) => index === 0 || position > (checkpoints[index - 1] ?? 0n)))
  }

  await client.appendToStream('note-1', event())
  const usual = await checkpointsOf(client, (checkpointReached) => streamNameFilter({ prefixes, checkpointReached }))
  t.is(usual.length, 376)
})

test.serial('on a fresh log the checkpoint before caughtUp is no position, as 24.10 sends it', async (t) => {
  const { double, client } = await openDouble(t)
  const none = await checkpointsOf(client, (checkpointReached) =>
    streamNameFilter({ prefixes: ['other-'], checkpointReached }),
  )
  t.deepEqual(none, [18_446_744_073_709_551_615n])
  await client.appendToStream('other-1', event())
  const own = await checkpointsOf(client, (checkpointReached) =>
    streamNameFilter({ prefixes: ['other-'], checkpointReached }),
  )
  t.is(own.at(-1), double.log().at(-1)?.position)
})

test.serial('live events bring checkpoints too, whether they match or not', async (t) => {
  const { client } = await openDouble(t)
  let checkpoints = 0
  const subscription = client.subscribeToAll({
    fromPosition: END,
    filter: streamNameFilter({
      prefixes: ['wanted-'],
      maxSearchWindow: 10,
      checkpointReached: () => void (checkpoints += 1),
    }),
  })
  await once(subscription, 'caughtUp')
  t.is(checkpoints, 1)
  for (let written = 0; written < 100; written += 1) await client.appendToStream(`note-${written}`, event())
  const marker = event()
  await client.appendToStream('wanted-1', marker)
  t.deepEqual(await take(subscription, 1), [marker.id])
  t.is(checkpoints, 11)
})

test.serial('a checkpoint is a position to go on from', async (t) => {
  const { client } = await openDouble(t)
  const events = many(100)
  await client.appendToStream('note-1', events)
  const checkpoints = await checkpointsOf(client, (checkpointReached) =>
    streamNameFilter({ prefixes: ['other-'], maxSearchWindow: 10, checkpointReached }),
  )
  for (const commit of checkpoints.slice(0, -1)) {
    const fromPosition = { commit, prepare: commit }
    const rest = await collect(client.readAll({ fromPosition }))
    const [next] = await take(client.subscribeToAll({ fromPosition }), 1)
    t.is(next, rest[1]?.event?.id)
  }
})

test.serial('history comes first, then caughtUp, then what is written', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(500))
  const told: Array<string> = []
  const subscription = client.subscribeToAll({ filter: excludeSystemEvents() })
  subscription.on('confirmation', () => told.push('confirmation'))
  subscription.on('caughtUp', () => told.push('caughtUp'))
  const taken = take(subscription, 1000)
  await once(subscription, 'caughtUp')
  t.regex(subscription.id ?? '', /^[0-9a-f-]{36}$/)
  for (let written = 0; written < 50; written += 1) await client.appendToStream(`note-${written}`, many(10))
  t.deepEqual(
    await taken,
    double.log().map(({ id }) => id),
  )
  t.deepEqual(told.slice(0, 2), ['confirmation', 'caughtUp'])
})

test.serial('a subscription begins after its position, or revision', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(3))
  const logged = double.log()
  const ids = logged.map(({ id }) => id)
  const commit = logged[0]?.position ?? 0n
  t.deepEqual(await take(client.subscribeToAll({ fromPosition: { commit, prepare: commit } }), 2), ids.slice(1))
  t.deepEqual(await take(client.subscribeToStream('note-1', { fromRevision: 0n }), 2), ids.slice(1))
  t.deepEqual(await take(client.subscribeToStream('note-1', { fromRevision: START }), 3), ids)
})

test.serial('a subscription from the end, from beyond it and to a missing stream waits', async (t) => {
  const { client } = await openDouble(t)
  await client.appendToStream('note-1', many(3))
  const beyond = { commit: 1_000_000n, prepare: 1_000_000n }
  const filter = excludeSystemEvents()
  const waiting = [
    client.subscribeToAll({ fromPosition: END, filter }),
    client.subscribeToStream('note-1', { fromRevision: END }),
    client.subscribeToStream('note-2'),
    client.subscribeToStream('note-1', { fromRevision: 3n }),
  ]
  const never = client.subscribeToAll({ fromPosition: beyond, filter })
  await Promise.all([...waiting, never].map((subscription) => once(subscription, 'caughtUp')))
  const [fourth, fifth, other] = [event(), event(), event()]
  await client.appendToStream('note-1', [fourth, fifth])
  await client.appendToStream('note-2', other)
  const firsts = await Promise.all(waiting.map((subscription) => take(subscription, 1)))
  t.deepEqual(firsts, [[fourth.id], [fourth.id], [other.id], [fifth.id]])
  t.is(never.readableLength, 0)
})

test.serial('a subscription from a position that no event has fails', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(2))
  const commit = (double.log()[0]?.position ?? 0n) + 1n
  await t.throwsAsync(collect(client.subscribeToAll({ fromPosition: { commit, prepare: commit } })), {
    instanceOf: UnknownError,
  })
})

test.serial('a filter is of stream names or event types, by prefix or by pattern', async (t) => {
  const { client } = await openDouble(t)
  const written: Array<readonly [stream: string, type: string, id: string]> = []
  for (const stream of ['a-x', 'a-y', 'a-z', 'b-x', 'ab-x']) {
    for (const type of ['Noted', 'NotedAgain', 'Drawn']) {
      const one = event(type)
      await client.appendToStream(stream, one)
      written.push([stream, type, one.id])
    }
  }
  const matching = (matches: (stream: string, type: string) => boolean): ReadonlyArray<string> =>
    written.filter(([stream, type]) => matches(stream, type)).map(([, , id]) => id)
  const filters: ReadonlyArray<readonly [Filter, ReadonlyArray<string>]> = [
    [streamNameFilter({ prefixes: ['a-', 'b-'] }), matching((stream) => /^[ab]-/.test(stream))],
    [streamNameFilter({ regex: '^a-(x|y)$' }), matching((stream) => stream === 'a-x' || stream === 'a-y')],
    [eventTypeFilter({ prefixes: ['Noted'] }), matching((_stream, type) => type !== 'Drawn')],
    [eventTypeFilter({ regex: '^(Noted|Drawn)$' }), matching((_stream, type) => type !== 'NotedAgain')],
    [excludeSystemEvents(), matching(() => true)],
  ]
  for (const [filter, expected] of filters) {
    t.deepEqual(await take(client.subscribeToAll({ filter }), expected.length), expected)
  }
})

test.serial('without a filter there are the events of the system, and those of deleted streams', async (t) => {
  const { client } = await openDouble(t)
  const one = event()
  await client.appendToStream('note-1', one)
  await client.deleteStream('note-1')
  const all = await collect(client.readAll())
  const ids = await take(client.subscribeToAll(), all.length)
  t.deepEqual(
    ids,
    all.map(({ event }) => event?.id),
  )
  t.true(ids.includes(one.id))
})

test.serial('a reader that stands still holds up its own subscription, and only that', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(5000))
  const filter = excludeSystemEvents()
  const ids = double.log().map(({ id }) => id)
  const still = client.subscribeToAll({ filter })
  await once(still, 'confirmation')
  double.faults.cutSubscriptions(4000, 1)
  // A client of its own: the driver closes the connection of a subscription that was cut, with all that goes over it.
  const quick = collect(clientOf(t, double.url).subscribeToAll({ filter }))
  await t.throwsAsync(quick)
  t.is(double.calls().cuts, 1, 'only the quick one came so far')
  t.deepEqual(await take(still, 5000), ids)
})

test.serial('a live reader that stands still for a while misses nothing', async (t) => {
  const { double, client } = await openDouble(t)
  const subscription = client.subscribeToAll({ filter: excludeSystemEvents() })
  await once(subscription, 'caughtUp')
  for (let written = 0; written < 20; written += 1) await client.appendToStream(`note-${written}`, many(250))
  t.deepEqual(
    await take(subscription, 5000),
    double.log().map(({ id }) => id),
  )
})

test.serial('a subscription that is left is left by the double too', async (t) => {
  const { double, client } = await openDouble(t)
  const left = client.subscribeToAll({ filter: excludeSystemEvents() })
  await once(left, 'caughtUp')
  await left.unsubscribe()
  await collect(left)
  double.faults.cutSubscriptions(1, 1)
  await client.appendToStream('note-1', many(10))
  t.is(double.calls().cuts, 0)
})
