import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { status } from '@grpc/grpc-js'
import test, { type ExecutionContext } from 'ava'
import { performance } from 'node:perf_hooks'
import { eventStoreDb } from '../../../adapters/eventstoredb/event-store.js'
import { connect } from '../../../adapters/eventstoredb/client/connection.js'
import { resubscribingReader } from '../../../adapters/eventstoredb/log/resubscribing-reader.js'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { neverAborted } from '../../../domain/abortable.js'
import { largestAppend, tooLargeAppend } from '../../../domain/append-limit.js'
import { beginning, positionOf, type Position } from '../../../domain/event.js'
import type { EventBatch, EventStore, NewEvent } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import { eventIds, newEvent, newEvents } from '../../kit/domain/new-events.js'
import { longRetries, openEventStoreDb, shortRetries, storeAt } from '../../kit/stores/eventstoredb.js'
import { rightOf } from '../../kit/right-of.js'
import { waitedTime } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

/** What a busy machine may add to a bound, in milliseconds. */
const slack = 60_000

/**
 * Repeats a call that is unavailable: on a busy machine a store with short retries may fail although its server is
 * well.
 */
const retried = async <A>(call: () => Promise<E.Either<{ readonly kind: string }, A>>): Promise<A> => {
  for (;;) {
    const answer = await call()
    if (E.isRight(answer) || answer.left.kind !== 'unavailable') return rightOf(answer)
  }
}

const clientAt = (t: ExecutionContext, { url }: EventStoreDouble): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url)
  t.teardown(client.dispose)
  return client
}

const loggedIds = (double: EventStoreDouble): ReadonlyArray<string> => double.log().map(({ id }) => id)

/** What a subscription to the category `account` gives until `count` events are there. */
const followed = async (
  store: EventStore,
  after: Position,
  count: number,
  onBatch: (batch: EventBatch) => void = () => undefined,
): Promise<ReadonlyArray<string>> => {
  const stopping = new AbortController()
  const seen: Array<string> = []
  for await (const batch of store.subscribe(after, ['account'], stopping.signal)) {
    seen.push(...eventIds(batch.events))
    onBatch(batch)
    if (seen.length >= count) stopping.abort()
  }
  return seen
}

for (const version of ['23.10', '24.10'] as const) {
  test.serial(
    `the largest append has room on ${version}, however much its events take beside their data`,
    async (t) => {
      t.true(largestAppend <= 0.8 * 1_048_576, 'far below what a server refuses')
      const { store } = await openEventStoreDb(t, longRetries, version)
      const actor = '\u{1f600}'.repeat(1_000)
      const event = (n: number, data: number): NewEvent =>
        ({ ...newEvent(n), actor, type: 'MemberAdded', data: { name: '\u0001'.repeat(data) } }) as unknown as NewEvent
      const sizeOf = (data: number): number => Buffer.byteLength(JSON.stringify([event(1, data)]))
      const room = Math.floor((largestAppend - sizeOf(0)) / (sizeOf(1) - sizeOf(0)))
      t.true(E.isRight(await store.append('account-1', 'no-stream', [event(1, room)])))
      const many = Array.from({ length: Math.floor(largestAppend / (sizeOf(0) + 1)) - 1 }, (_, n) => event(n + 2, 0))
      t.true(E.isRight(await store.append('account-2', 'no-stream', [event(1, 0), ...many])))
      t.deepEqual(await store.append('account-3', 'no-stream', [event(1, room + 1)]), E.left(tooLargeAppend))
    },
  )
}

test.serial('a server that hangs makes every call unavailable in time, and serves again afterwards', async (t) => {
  const { double, store } = await openEventStoreDb(t, shortRetries)
  await retried(() => store.append('account-1', 'no-stream', newEvents(2)))
  double.faults.beSilent()
  const calls = {
    append: () => store.append('account-1', 1, [newEvent(3)]),
    'append to a new stream': () => store.append('account-2', 'no-stream', [newEvent(4)]),
    read: () => store.read('account-1'),
    head: () => store.head(),
  }
  await Promise.all(
    Object.entries(calls).map(async ([name, call]) => {
      const begun = performance.now()
      t.deepEqual(await call(), E.left({ kind: 'unavailable', reason: 'the event store did not answer in time' }), name)
      const elapsed = performance.now() - begun
      t.true(
        elapsed > shortRetries.retryFor / 2 && elapsed < shortRetries.retryFor + shortRetries.callTimeout + slack,
        `${name}: ${elapsed} ms`,
      )
    }),
  )
  double.faults.clear()
  await until('all four are written', 60_000, () => double.log().length === 4)
  // Whether it was written is unknown, so it is sent again: the same ids at the same revision.
  t.like(await retried(calls.append), { revision: 2 })
  t.like(await retried(calls['append to a new stream']), { revision: 0 })
  t.like(await retried(calls.read), { revision: 2 })
  t.is<bigint, bigint>(await retried(calls.head), double.log().at(-1)?.position ?? beginning)
  t.is(double.log().length, 4)
})

test.serial('a server that hangs from the first call on makes it unavailable in time', async (t) => {
  const { double, store } = await openEventStoreDb(t, shortRetries)
  double.faults.beSilent()
  const begun = performance.now()
  t.like(await store.append('account-1', 'no-stream', [newEvent(1)]), { left: { kind: 'unavailable' } })
  t.true(performance.now() - begun < shortRetries.retryFor + shortRetries.callTimeout + slack)
})

test.serial('a store whose calls timed out can be closed', async (t) => {
  for (const callTimeout of [1, 3, 10]) {
    const { double, store } = await openEventStoreDb(t, { callTimeout, retryFor: 1, backoff: { first: 2, longest: 2 } })
    const writer = storeAt(t, double.url)
    rightOf(await writer.append('account-1', 'no-stream', newEvents(30)))
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? store.head() : store.read('account-1'))))
    }
    double.faults.beSilent()
    t.true(E.isLeft(await store.head()))
    t.true(E.isLeft(await store.read('account-1')))
    double.faults.clear()
    // Answers that nobody waits for have arrived when a later one has.
    rightOf(await writer.read('account-1'))
    const late = new Promise<string>((resolve) => setTimeout(resolve, 15_000, 'it does not close').unref())
    t.is(await Promise.race([store.close(), late]), undefined)
  }
})

test.serial('an append whose answer is lost with its connection is written once, and succeeds', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  double.faults.breakAfterWriting(1)
  const appended = await store.append('account-1', 0, [newEvent(2), newEvent(3)])
  t.deepEqual(appended, E.right({ revision: 2, position: double.log()[2]?.position ?? beginning }))
  t.is(double.calls().appends, 3)
  t.deepEqual(loggedIds(double), eventIds(newEvents(3)))
})

test.serial('an append whose answer never comes is written once, and succeeds', async (t) => {
  const { double, store } = await openEventStoreDb(t, { ...longRetries, callTimeout: 200 })
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  double.faults.leaveUnanswered(1)
  const appended = await store.append('account-1', 0, [newEvent(2), newEvent(3)])
  t.deepEqual(appended, E.right({ revision: 2, position: double.log()[2]?.position ?? beginning }))
  t.true(double.calls().appends > 2)
  t.deepEqual(loggedIds(double), eventIds(newEvents(3)))
})

test.serial(
  'an answer that comes after another client was disposed of ends no process, and is not missed',
  async (t) => {
    const { store: other } = await openEventStoreDb(t)
    rightOf(await other.append('account-1', 'no-stream', [newEvent(9)]))
    const { double, store } = await openEventStoreDb(t, { ...shortRetries, callTimeout: 200 })
    rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
    double.faults.beSilent()
    t.like(await store.append('account-1', 0, [newEvent(2)]), { left: { kind: 'unavailable' } })
    // The driver rejects what waits for an answer of any server.
    await other.close()
    double.faults.clear()
    // What the server did with the late one it says before that.
    rightOf(await store.append('account-1', 1, [newEvent(3)]))
    t.deepEqual(loggedIds(double), eventIds(newEvents(3)))
  },
)

test.serial('of many appends in flight when the connection breaks each is written once', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  double.faults.breakAfterWriting(5)
  const appends = Array.from({ length: 50 }, (_, n) => store.append(`account-${n + 2}`, 'no-stream', [newEvent(n + 2)]))
  for (const appended of await Promise.all(appends)) t.like(appended, { right: { revision: 0 } })
  t.deepEqual(loggedIds(double).toSorted(), eventIds(newEvents(51)))
})

test.serial('an append that meets a follower reaches the leader', async (t) => {
  const { double: follower, store } = await openEventStoreDb(t)
  const { double: leader } = await openEventStoreDb(t)
  follower.faults.followLeader({ host: '127.0.0.1', port: leader.port })
  t.like(await store.append('account-1', 'no-stream', newEvents(2)), { right: { revision: 1 } })
  t.like(await store.append('account-1', 1, [newEvent(3)]), { right: { revision: 2 } })
  t.deepEqual(loggedIds(leader), eventIds(newEvents(3)))
  t.deepEqual(loggedIds(follower), [])
})

test.serial('what is read is read of the leader, though the URL leads to a node that lags behind it', async (t) => {
  const { double: lagging, store: former } = await openEventStoreDb(t)
  const { double: leader, store: atLeader } = await openEventStoreDb(t)
  for (const written of [former, atLeader]) rightOf(await written.append('account-1', 'no-stream', newEvents(3)))
  rightOf(await atLeader.append('account-1', 2, [newEvent(4)]))
  lagging.faults.followLeader({ host: '127.0.0.1', port: leader.port })
  const there = (): EventStore => storeAt(t, lagging.url)
  t.like(await there().read('account-1'), { right: { revision: 3 } })
  t.is(rightOf(await there().readLast('account-1', 1))[0]?.revision, 3)
  t.deepEqual(await there().head(), await atLeader.head())
  rightOf(await atLeader.saveCheckpoint('reactions', positionOf(7n)))
  t.deepEqual(await there().checkpoint('reactions'), E.right(positionOf(7n)))
  t.deepEqual(await followed(there(), beginning, 4), eventIds(newEvents(4)))

  const reader = resubscribingReader(rightOf(connect(lagging.url)).reads, longRetries, monotonicClock)
  const part = { after: beginning, categories: ['account'], signal: neverAborted, retryFor: Infinity } as const
  const read: Array<string> = []
  for await (const batch of reader.readUpTo(rightOf(await atLeader.head()), part)) read.push(...eventIds(batch.events))
  t.deepEqual(read, eventIds(newEvents(4)))
})

test.serial('an event that would break the driver is refused before it is sent', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  const [good] = newEvents(1)
  const unfit = [
    { ...good, id: 'no-uuid' },
    { ...good, id: `${good.id}0` },
    { ...good, id: `{${good.id}}` },
    { ...good, id: '' },
    { ...good, type: '' as 'AccountEnabled' },
  ]
  for (const event of unfit) {
    for (const events of [[event], [good, event]] as const) {
      const refused = await store.append('account-1', 'no-stream', events)
      t.like(refused, { left: { kind: 'corrupt' } })
    }
  }
  t.is(double.calls().appends, 0)
  t.like(await store.append('account-1', 'no-stream', [good]), { right: { revision: 0 } })
})

test.serial('a conflict is answered at once, without a retry', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', newEvents(2)))
  t.deepEqual(await store.append('account-1', 'no-stream', [newEvent(3)]), E.left({ kind: 'conflict' }))
  t.deepEqual(await store.append('account-1', 0, [newEvent(3)]), E.left({ kind: 'conflict' }))
  t.is(double.calls().appends, 3)
})

test.serial('a conflict that the driver does not throw is one all the same', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  const client = EventStoreDBClient.connectionString(`${double.url}&throwOnAppendFailure=false`)
  const quiet = { current: () => client, answered: () => undefined, failed: () => undefined, close: client.dispose }
  const other = eventStoreDb({ appends: quiet, reads: quiet, close: quiet.close }, longRetries)
  t.teardown(other.close)
  t.deepEqual(await other.append('account-1', 'no-stream', [newEvent(2)]), E.left({ kind: 'conflict' }))
  t.like(await other.append('account-1', 0, [newEvent(3)]), { right: { revision: 1 } })
  t.deepEqual(loggedIds(double), eventIds([newEvent(1), newEvent(3)]))
})

test.serial('an append that is too big is never sent, and the next one succeeds', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  const [event] = newEvents(1)
  const big = { ...event, actor: 'x'.repeat(1024 * 1024) }
  t.like(await store.append('account-1', 'no-stream', [big]), { left: { kind: 'corrupt' } })
  t.is(double.calls().appends, 0)
  t.like(await store.append('account-1', 'no-stream', [event]), { right: { revision: 0 } })
})

test.serial(
  'a stream that others wrote to, or deleted for ever, is corrupt, and its read is not retried',
  async (t) => {
    const { double, store } = await openEventStoreDb(t)
    const client = clientAt(t, double)
    await client.appendToStream('account-1', jsonEvent({ type: 'Ada', data: { name: 'Ada' } }))
    await client.appendToStream('account-2', jsonEvent({ type: 'Ada', data: { name: 'Ada' } }))
    await client.tombstoneStream('account-2')
    for (const stream of ['account-1', 'account-2']) {
      const { reads } = double.calls()
      const read = await store.read(stream)
      t.like(read, { left: { kind: 'corrupt' } })
      t.false(JSON.stringify(read).includes('Ada'))
      t.is(double.calls().reads, reads + 1)
    }
  },
)

test.serial('transient failures are retried, and what is told of them in the end holds no value', async (t) => {
  const { double } = await openEventStoreDb(t)
  // However busy the machine is, no call is late, and as many are made as the waits between them allow.
  const store = storeAt(t, double.url, { ...shortRetries, callTimeout: longRetries.callTimeout }, waitedTime())
  double.faults.refuse('reads', status.UNAVAILABLE)
  const failed = E.left({ kind: 'unavailable' as const, reason: 'the event store answered unavailable (14)' })
  t.deepEqual(await store.read('account-Ada'), failed)
  t.deepEqual(await store.head(), failed)
  const { reads } = double.calls()
  t.true(reads > 4, `${reads} reads`)
  setTimeout(double.faults.clear, 50)
  t.deepEqual(await storeAt(t, double.url).read('account-Ada'), E.right({ events: [], revision: 'no-stream' }))
})

test.serial('appends, reads and subscriptions survive a server that is away for a moment', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  const seen: Array<string> = []
  const following = followed(store, beginning, 4, ({ events }) => seen.push(...eventIds(events)))
  await until('the first event is there', 60_000, () => seen.length === 1)
  for (let outage = 0; outage < 2; outage += 1) {
    await double.stop()
    const [appending, reading, heading] = [
      store.append('account-1', outage, [newEvent(outage + 2)]),
      store.read('account-1'),
      store.head(),
    ]
    setTimeout(() => void double.start(), 100)
    t.like(await appending, { right: { revision: outage + 1 } })
    t.true(E.isRight(await reading))
    t.true(E.isRight(await heading))
  }
  t.like(await store.append('account-1', 2, [newEvent(4)]), { right: { revision: 3 } })
  t.like(await store.read('account-1'), { right: { revision: 3 } })
  t.deepEqual(await store.head(), E.right(double.log().at(-1)?.position ?? beginning))
  t.deepEqual(await following, eventIds(newEvents(4)))
})

test.serial('a server that stays away makes appends, reads and the head unavailable in time', async (t) => {
  const { double, store } = await openEventStoreDb(t, shortRetries)
  await retried(() => store.append('account-1', 'no-stream', [newEvent(1)]))
  await double.stop()
  for (const call of [
    () => store.append('account-1', 0, [newEvent(2)]),
    () => store.read('account-1'),
    () => store.head(),
  ]) {
    const begun = performance.now()
    t.like(await call(), { left: { kind: 'unavailable' } })
    t.true(performance.now() - begun < shortRetries.retryFor + shortRetries.callTimeout + slack)
  }
})

for (const how of ['unavailable', 'cleanly'] as const) {
  test.serial(`a subscription that is cut a hundred times, ${how}, gives each event once, in order`, async (t) => {
    const { double, store } = await openEventStoreDb(t)
    const history = 600
    const live = 300
    rightOf(await store.append('account-1', 'no-stream', newEvents(history)))
    double.faults.cutSubscriptions(7, 100, how)
    const batches: Array<EventBatch> = []
    const following = followed(store, beginning, history + live, (batch) => batches.push(batch))
    for (let n = 0; n < live; n += 1) {
      rightOf(await store.append('account-1', history - 1 + n, [newEvent(history + 1 + n)]))
    }
    t.deepEqual(await following, eventIds(newEvents(history + live)))
    t.is(double.calls().cuts, 100)
    const positions = batches.map(({ position }) => position)
    t.deepEqual(
      positions,
      [...new Set(positions)].toSorted((one, other) => (one < other ? -1 : 1)),
    )
  })
}

test.serial('subscribers that the server drops for being slow miss nothing', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  double.faults.dropSlowSubscribers(0)
  rightOf(await store.append('account-first', 'no-stream', newEvents(1)))
  const begun = new Set<string>()
  const following = followed(store, beginning, 3_001, () => begun.add('one'))
  const others = followed(store, beginning, 3_001, () => begun.add('the other'))
  await until('both follow the log', 60_000, () => begun.size === 2)
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) =>
      rightOf(await store.append(`account-${n}`, 'no-stream', newEvents(100, 100 * n + 2))),
    ),
  )
  const logged = loggedIds(double)
  t.deepEqual(await following, logged)
  t.deepEqual(await others, logged)
  t.true(double.calls().cuts > 0)
})

/** A history of which the first batch was taken. */
const begunHistory = async (t: ExecutionContext, store: EventStore, count: number) => {
  for (let n = 0; n < count; n += 1_000) {
    await retried(() => store.append(`account-${n}`, 'no-stream', newEvents(1_000, n + 1)))
  }
  const seen: Array<string> = []
  const history = store.history(beginning, ['account'], neverAborted)[Symbol.asyncIterator]()
  const take = async (): Promise<boolean> => {
    const next = await history.next()
    if (next.done !== true) seen.push(...eventIds(next.value.events))
    return next.done === true
  }
  t.false(await take())
  return { seen, take }
}

test.serial('a history throws when the server stays away', async (t) => {
  const { double, store } = await openEventStoreDb(t, {
    callTimeout: 1_000,
    retryFor: 1_000,
    backoff: { first: 5, longest: 40 },
  })
  const { seen, take } = await begunHistory(t, store, 8_000)
  await double.stop()
  const begun = performance.now()
  const error = await t.throwsAsync(
    async () => {
      while (!(await take())) continue
    },
    { instanceOf: StoreFailed },
  )
  t.false(error.message.includes('127.0.0.1'))
  t.true(performance.now() - begun < 4_000 + slack)
  t.deepEqual(seen, eventIds(newEvents(seen.length)))
  t.true(seen.length < 8_000)
  await t.throwsAsync(
    async () => {
      for await (const _ of store.history(beginning, ['account'], neverAborted)) t.fail()
    },
    { instanceOf: StoreFailed },
  )
})

test.serial('a history goes on when the server comes back in time', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  const { seen, take } = await begunHistory(t, store, 8_000)
  await double.stop()
  setTimeout(() => void double.start(), 100)
  while (!(await take())) continue
  t.deepEqual(seen, eventIds(newEvents(8_000)))
})

test.serial('a subscription waits for a server that stays away, from the first moment on', async (t) => {
  const { double, store } = await openEventStoreDb(t, shortRetries)
  await retried(() => store.append('account-1', 'no-stream', newEvents(3)))
  await double.stop()
  const early = followed(store, beginning, 4)
  t.true(E.isLeft(await store.head()))
  await double.start()
  const seen: Array<string> = []
  const late = followed(store, beginning, 4, ({ events }) => seen.push(...eventIds(events)))
  await until('the history is there', 60_000, () => seen.length === 3)
  await double.stop()
  // So long that a history would have thrown.
  for (let tries = 0; tries < 2; tries += 1) t.true(E.isLeft(await store.head()))
  await double.start()
  await until('it subscribed anew', 60_000, () => double.calls().subscriptions > 2)
  await retried(() => store.append('account-1', 2, [newEvent(4)]))
  t.deepEqual(await early, eventIds(newEvents(4)))
  t.deepEqual(await late, eventIds(newEvents(4)))
})

test.serial('a store that is closed ends its subscriptions, and begins none', async (t) => {
  const { store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', newEvents(2)))
  const seen: Array<string> = []
  const following = followed(store, beginning, 3, ({ events }) => seen.push(...eventIds(events)))
  await until('the history is there', 60_000, () => seen.length === 2)
  await store.close()
  t.deepEqual(await following, eventIds(newEvents(2)))
  t.deepEqual(await followed(store, beginning, 1), [])
})

test.serial('a long stream is read by calls that do not grow with it', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.append('account-1', 'no-stream', newEvents(1_200)))
  const before = double.calls().reads
  t.is(rightOf(await store.read('account-1')).events.length, 1_200)
  // The first page is small: how large its events are is not known before.
  t.is(double.calls().reads, before + 4)
  t.is(rightOf(await store.read('account-1', 1_190)).events.length, 10)
  t.is(rightOf(await store.readLast('account-1', 7)).length, 7)
  t.is(double.calls().reads, before + 6)
})

test.serial('how far a follower has come is a stream of one event, in the shape that is stored today', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  const client = clientAt(t, double)
  for (const position of [7n, 8n, 9n]) rightOf(await store.saveCheckpoint('reactions', positionOf(position)))
  const stored: Array<unknown> = []
  for await (const { event } of client.readStream('checkpoint-reactions')) stored.push([event?.type, event?.data])
  t.deepEqual(stored, [['CheckpointSaved', { position: 9 }]])
})

test.serial('a position that is no further than the saved one costs a read and no append', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  rightOf(await store.saveCheckpoint('reactions', positionOf(7n)))
  const { appends, reads } = double.calls()
  rightOf(await store.saveCheckpoint('reactions', positionOf(7n)))
  rightOf(await store.saveCheckpoint('reactions', positionOf(3n)))
  t.like(double.calls(), { appends, reads: reads + 2 })
})

test.serial('a stream of checkpoints with an event that is none is corrupt', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  await clientAt(t, double).appendToStream('checkpoint-reactions', jsonEvent({ type: 'Noted', data: { position: 3 } }))
  const corrupt = E.left({ kind: 'corrupt', reason: 'a stream of checkpoints holds an event that is none' })
  t.deepEqual(await store.checkpoint('reactions'), corrupt)
  t.deepEqual(await store.saveCheckpoint('reactions', positionOf(9n)), corrupt)
})
