import {
  DeadlineExceededError,
  END,
  excludeSystemEvents,
  isCommandError,
  NO_STREAM,
  NotLeaderError,
  TimeoutError,
  UnavailableError,
  UnknownError,
  type EventStoreDBClient,
  type ResolvedEvent,
} from '@eventstore/db-client'
import { status } from '@grpc/grpc-js'
import test from 'ava'
import { once } from 'node:events'
import { until } from '../kit/time/until.js'
import { clientOf, collect, event, many, openDouble } from './open-double.js'

const filter = excludeSystemEvents()
const credentials = { username: 'admin', password: 'changeit' }

/** What a subscription gives until it ends, and the error with which it does. */
const followed = async (
  subscription: AsyncIterable<ResolvedEvent>,
): Promise<{ readonly ids: ReadonlyArray<string>; readonly error: unknown }> => {
  const ids: Array<string> = []
  try {
    for await (const { event } of subscription) ids.push(event?.id ?? '')
    return { ids, error: undefined }
  } catch (error) {
    return { ids, error }
  }
}

const appendOne = (client: EventStoreDBClient) => client.appendToStream('note-1', event())

test.serial('all calls, appends or reads are refused until the fault is cleared', async (t) => {
  const { double, client } = await openDouble(t)
  await appendOne(client)

  double.faults.refuse('appends', status.INTERNAL)
  const refused = await t.throwsAsync(appendOne(client), { instanceOf: UnknownError })
  t.is(refused.code, status.INTERNAL)
  await t.throwsAsync(client.appendToStream('note-1', event(), { credentials }), { instanceOf: UnknownError })
  t.is((await collect(client.readStream('note-1'))).length, 1)

  double.faults.refuse('reads', status.UNAVAILABLE)
  await t.throwsAsync(collect(client.readStream('note-1')), { instanceOf: UnavailableError })
  await t.throwsAsync(collect(client.subscribeToAll()), { instanceOf: UnavailableError })
  await appendOne(client)

  double.faults.refuse('all', status.UNAVAILABLE)
  await t.throwsAsync(appendOne(client))
  await t.throwsAsync(collect(client.readAll()), { instanceOf: UnavailableError })
  await t.throwsAsync(client.deleteStream('note-1'), { instanceOf: UnavailableError })

  double.faults.clear()
  await appendOne(client)
  t.is((await collect(client.readStream('note-1'))).length, 3)
})

test.serial('an append that is delayed is written later, or not at all when its deadline is over', async (t) => {
  const { double, client } = await openDouble(t)
  double.faults.delayAppends(100)
  const started = performance.now()
  const appending = Promise.all([appendOne(client), appendOne(client)])
  await until('both appends have arrived', 60_000, () => double.calls().appends === 2)
  t.deepEqual(double.log(), [])
  await appending
  t.true(performance.now() - started >= 99)
  await t.throwsAsync(client.appendToStream('note-2', event(), { deadline: 20 }), { instanceOf: DeadlineExceededError })
  t.is(double.log().length, 2)
})

for (const [name, way] of Object.entries({ shared: {}, own: { credentials } })) {
  test.serial(`a call that breaks after writing, its ${name} one, leaves the event and no answer`, async (t) => {
    const { double, client } = await openDouble(t)
    const one = event()
    const options = { expectedRevision: NO_STREAM, ...way } as const
    double.faults.breakAfterWriting(1)
    await t.throwsAsync(client.appendToStream('note-1', one, options), { instanceOf: UnavailableError })
    t.is(double.log().length, 1)
    const again = await client.appendToStream('note-1', one, options)
    t.is(again.position?.commit, double.log()[0]?.position)
    t.is(double.log().length, 1)
  })
}

test.serial('an append that gets no answer is written, and those after it are answered', async (t) => {
  const { double, client } = await openDouble(t)
  await appendOne(client)
  double.faults.leaveUnanswered(1)
  const unanswered = appendOne(client)
  const answered = await appendOne(client)
  t.is(answered.nextExpectedRevision, 2n)
  t.is(await Promise.race([unanswered, Promise.resolve('nothing')]), 'nothing')
  await Promise.all([t.throwsAsync(unanswered), client.dispose()])
})

test.serial('a silent double does and answers nothing, and goes on with everything afterwards', async (t) => {
  const { double, client } = await openDouble(t)
  await appendOne(client)
  const subscription = client.subscribeToAll({ filter, fromPosition: END })
  await once(subscription, 'caughtUp')

  double.faults.beSilent()
  let settled = 0
  const calls = [
    appendOne(client),
    client.appendToStream('note-1', event(), { credentials }),
    collect(client.readStream('note-1')),
    once(client.subscribeToAll(), 'caughtUp'),
  ].map((call) => call.then(() => (settled += 1)))
  await until('all calls have arrived', 60_000, () => {
    const { appends, reads, subscriptions } = double.calls()
    return appends === 3 && reads === 1 && subscriptions === 2
  })
  t.is(double.log().length, 1)
  t.is(settled, 0)
  t.is(subscription.readableLength, 0)

  double.faults.clear()
  await Promise.all(calls)
  t.is(double.log().length, 3)
  for await (const { event } of subscription) {
    t.is(event?.revision, 1n)
    break
  }
})

test.serial('a subscription is cut after each so many events, so many times', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(10))
  const logged = double.log()
  const ids = logged.map(({ id }) => id)
  double.faults.cutSubscriptions(4, 2)
  const first = await followed(client.subscribeToAll({ filter }))
  t.deepEqual(first.ids, ids.slice(0, 4))
  t.true(first.error instanceof UnavailableError)
  const second = await followed(client.subscribeToStream('note-1', { fromRevision: 3n }))
  t.deepEqual(second.ids, ids.slice(4, 8))
  t.true(second.error instanceof UnavailableError)
  t.is(double.calls().cuts, 2)
  const third = client.subscribeToAll({ filter })
  await once(third, 'caughtUp')
  t.is(double.calls().cuts, 2)
})

test.serial('a subscription can be made to end without an error', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(5))
  const ids = double.log().map(({ id }) => id)
  double.faults.cutSubscriptions(3, 1, 'cleanly')
  t.deepEqual(await followed(client.subscribeToAll({ filter })), { ids: ids.slice(0, 3), error: undefined })
})

test.serial('a live subscriber that is too slow is dropped by 23.10', async (t) => {
  const { double, client } = await openDouble(t, '23.10')
  const subscription = client.subscribeToAll({ filter })
  await once(subscription, 'caughtUp')
  for (let written = 0; double.calls().cuts === 0; written += 1) await client.appendToStream(`n-${written}`, many(100))
  const logged = double.log().map(({ id }) => id)
  const { ids, error } = await followed(subscription)
  t.true(error instanceof TimeoutError)
  t.regex((error as TimeoutError).message, /Consumer too slow to handle event while live/)
  t.true(ids.length < logged.length)
  t.deepEqual(ids, logged.slice(0, ids.length))
})

test.serial(
  'a live subscriber that is too slow loses nothing on 24.10, and is told again that it caught up',
  async (t) => {
    const { double, client } = await openDouble(t, '24.10')
    const subscription = client.subscribeToAll({ filter })
    let timesCaughtUp = 0
    subscription.on('caughtUp', () => {
      timesCaughtUp += 1
    })
    await once(subscription, 'caughtUp')
    const written = 3_000
    for (let n = 0; n < written; n += 100) await client.appendToStream(`n-${n}`, many(100))
    const ids: Array<string> = []
    for await (const { event } of subscription) {
      ids.push(event?.id ?? '')
      // It caught up before it is given what is written now.
      if (ids.length === written) await client.appendToStream('last', many(1))
      if (ids.length > written) break
    }
    t.deepEqual(
      ids,
      double.log().map(({ id }) => id),
    )
    t.true(timesCaughtUp > 1)
  },
)

test.serial('a subscriber that is slow in its history is not dropped', async (t) => {
  const { double, client } = await openDouble(t, '23.10')
  await client.appendToStream('note-1', many(2000))
  const subscription = client.subscribeToAll({ filter })
  await once(subscription, 'confirmation')
  for (let written = 0; written < 10; written += 1) await client.appendToStream(`n-${written}`, many(100))
  const ids: Array<string> = []
  for await (const { event } of subscription) {
    ids.push(event?.id ?? '')
    if (ids.length === 3000) break
  }
  t.deepEqual(
    ids,
    double.log().map(({ id }) => id),
  )
})

test.serial('a follower names its leader, and the client goes there', async (t) => {
  const { double: follower, client } = await openDouble(t)
  const { double: leader } = await openDouble(t)
  follower.faults.followLeader({ host: '127.0.0.1', port: leader.port })
  const error = await t.throwsAsync(appendOne(client), { instanceOf: NotLeaderError })
  t.deepEqual(error.leader, { address: '127.0.0.1', port: leader.port })
  await appendOne(client)
  t.is(leader.log().length, 1)
  await t.throwsAsync(clientOf(t, follower.url).appendToStream('note-1', event(), { credentials }), {
    instanceOf: NotLeaderError,
  })
  follower.faults.clear()
  await appendOne(clientOf(t, follower.url))
  t.is(follower.log().length, 1)
})

test.serial('the feature probe fails so many times', async (t) => {
  const { double, client } = await openDouble(t)
  double.faults.failProbes(status.UNAVAILABLE, 2)
  for (let failed = 0; failed < 2; failed += 1) {
    const error = await t.throwsAsync(appendOne(client))
    t.like(error, { code: status.UNAVAILABLE })
    t.false(isCommandError(error))
  }
  await appendOne(client)
  t.is(double.calls().appends, 1)

  double.faults.failProbes(status.INTERNAL, 1)
  const other = clientOf(t, double.url)
  await t.throwsAsync(appendOne(other))
  await t.throwsAsync(appendOne(other), undefined, 'this client keeps such a failure for ever')
  await appendOne(clientOf(t, double.url))
})

test.serial('a stop breaks the calls in flight, and a start goes on with all that was written', async (t) => {
  const { double, client } = await openDouble(t)
  const { port } = double
  const first = await appendOne(client)
  const subscription = client.subscribeToAll({ filter })
  await once(subscription, 'caughtUp')
  const following = followed(subscription)
  double.faults.leaveUnanswered(1)
  const written = appendOne(client)
  await until('the append is written', 60_000, () => double.log().length === 2)
  double.faults.delayAppends(60_000)
  const unwritten = appendOne(client)
  await until('the append has arrived', 60_000, () => double.calls().appends === 3)

  await double.stop()
  for (const lost of [written, unwritten]) {
    const error = await t.throwsAsync(lost, { instanceOf: UnavailableError })
    t.regex(error.message, /Connection dropped/)
  }
  const { ids, error } = await following
  t.is(ids.length, 2)
  t.true(error instanceof UnavailableError)
  const refused = await t.throwsAsync(appendOne(client))
  t.like(refused, { code: status.UNAVAILABLE })
  await t.throwsAsync(collect(client.readAll()), { instanceOf: UnavailableError })

  double.faults.clear()
  await double.start()
  t.is(double.port, port)
  const next = await appendOne(client)
  t.is(next.nextExpectedRevision, 2n)
  t.true((next.position?.commit ?? 0n) > (first.position?.commit ?? 0n))
  t.is((await collect(client.readStream('note-1'))).length, 3)
  await double.stop()
  await double.start()
  await collect(client.readStream('note-1')).catch(() => undefined)
  t.is((await collect(client.readStream('note-1'))).length, 3)
})
