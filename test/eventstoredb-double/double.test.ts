import {
  binaryEvent,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  STREAM_EXISTS,
  UnknownError,
  WrongExpectedVersionError,
  type AppendToStreamOptions,
} from '@eventstore/db-client'
import test, { type ExecutionContext } from 'ava'
import { once } from 'node:events'
import { startDoubleProcess } from '../kit/stores/double-process.js'
import { clientOf, collect, event, many, openDouble, type Opened } from './open-double.js'

const ways = {
  /** What the client uses of itself: one call for all appends. */
  'in the shared call': {},
  /** What it falls back to with credentials, which an insecure connection doesn't send. */
  'in a call of its own': { credentials: { username: 'admin', password: 'changeit' } },
} as const

/** What one append may take, in bytes. */
const mebibyte = 1024 * 1024

const behaviour = (
  title: string,
  check: (t: ExecutionContext, opened: Opened, way: Partial<AppendToStreamOptions>) => Promise<void>,
): void => {
  for (const [name, way] of Object.entries(ways)) {
    test.serial(`an append ${name}: ${title}`, async (t) => check(t, await openDouble(t), way))
  }
}

const isWrong = async (
  t: ExecutionContext,
  appending: Promise<unknown>,
  actual: WrongExpectedVersionError['actualVersion'],
): Promise<void> => {
  const error = await t.throwsAsync(appending, { instanceOf: WrongExpectedVersionError })
  t.is(error.actualVersion, actual)
}

behaviour('is answered with the revision and the position of its last event', async (t, { double, client }, way) => {
  const answer = await client.appendToStream('note-1', many(2), { expectedRevision: NO_STREAM, ...way })
  t.true(answer.success)
  t.is(answer.nextExpectedRevision, 1n)
  t.is(answer.position?.commit, answer.position?.prepare)
  t.is(answer.position?.commit, double.log().at(-1)?.position)
  t.deepEqual(
    double.log().map(({ stream, revision, type }) => ({ stream, revision, type })),
    [
      { stream: 'note-1', revision: 0, type: 'Noted' },
      { stream: 'note-1', revision: 1, type: 'Noted' },
    ],
  )
})

behaviour('the same events at the same revision are written once', async (t, { double, client }, way) => {
  const events = many(2)
  const first = await client.appendToStream('note-1', events, { expectedRevision: NO_STREAM, ...way })
  const later = event()
  const second = await client.appendToStream('note-1', later, { expectedRevision: 1n, ...way })
  t.deepEqual(await client.appendToStream('note-1', events, { expectedRevision: NO_STREAM, ...way }), first)
  for (const expectedRevision of [1n, STREAM_EXISTS, 'any'] as const) {
    t.deepEqual(await client.appendToStream('note-1', later, { expectedRevision, ...way }), second)
  }
  t.is(double.log().length, 3)
})

behaviour('the first of its events again is answered with where that one stands', async (t, opened, way) => {
  const { double, client } = opened
  const [one, two] = [event(), event()]
  await client.appendToStream('note-1', [one, two], { expectedRevision: NO_STREAM, ...way })
  const again = await client.appendToStream('note-1', one, { expectedRevision: NO_STREAM, ...way })
  t.is(again.nextExpectedRevision, 0n)
  t.is(again.position?.commit, double.log()[0]?.position)
})

behaviour('the same events at another revision are written again', async (t, { double, client }, way) => {
  const events = many(2)
  await client.appendToStream('note-1', events, { expectedRevision: NO_STREAM, ...way })
  await client.appendToStream('note-1', event(), { expectedRevision: 1n, ...way })
  const again = await client.appendToStream('note-1', events, { expectedRevision: 2n, ...way })
  t.is(again.nextExpectedRevision, 4n)
  t.is(double.log().length, 5)
})

behaviour('a repeat that is not the same events is refused', async (t, { double, client }, way) => {
  const [one, two] = [event(), event()]
  await client.appendToStream('note-1', [one, two], { expectedRevision: NO_STREAM, ...way })
  for (const events of [[one, two, event()], [two, one], [two], [one, event()]]) {
    await isWrong(t, client.appendToStream('note-1', events, { expectedRevision: NO_STREAM, ...way }), 1n)
  }
  await isWrong(t, client.appendToStream('note-1', [two, event()], { expectedRevision: 'any', ...way }), 1n)
  t.is(double.log().length, 2)
})

behaviour('an id may stand twice, in one append and in two streams', async (t, { double, client }, way) => {
  const same = event()
  const twice = await client.appendToStream('note-1', [same, same], { expectedRevision: NO_STREAM, ...way })
  t.is(twice.nextExpectedRevision, 1n)
  await client.appendToStream('note-2', same, { expectedRevision: NO_STREAM, ...way })
  await client.appendToStream('note-3', same, way)
  t.deepEqual(
    double.log().map(({ stream, id }) => [stream, id]),
    [
      ['note-1', same.id],
      ['note-1', same.id],
      ['note-2', same.id],
      ['note-3', same.id],
    ],
  )
})

behaviour('at the wrong revision is refused with the right one', async (t, { double, client }, way) => {
  const options = { expectedRevision: 3n, ...way }
  const error = await t.throwsAsync(client.appendToStream('note-1', event(), options), {
    instanceOf: WrongExpectedVersionError,
  })
  t.is(error.streamName, 'note-1')
  t.is(error.expectedVersion, 3n)
  t.is(error.actualVersion, 'no_stream')
  await isWrong(t, client.appendToStream('note-1', event(), { expectedRevision: STREAM_EXISTS, ...way }), 'no_stream')
  await client.appendToStream('note-1', many(2), way)
  for (const expectedRevision of [NO_STREAM, 0n, 2n] as const) {
    await isWrong(t, client.appendToStream('note-1', event(), { expectedRevision, ...way }), 1n)
  }
  t.is(double.log().length, 2)
})

behaviour('of fifty who begin a stream one does', async (t, { double, client }, way) => {
  const appending = Array.from({ length: 50 }, () =>
    client.appendToStream('note-1', event(), { expectedRevision: NO_STREAM, ...way }),
  )
  const settled = await Promise.allSettled(appending)
  const reasons = settled.flatMap((one): ReadonlyArray<unknown> => (one.status === 'rejected' ? [one.reason] : []))
  t.is(reasons.length, 49)
  t.true(reasons.every((reason) => reason instanceof WrongExpectedVersionError && reason.actualVersion === 0n))
  t.is(double.log().length, 1)
})

behaviour('without events succeeds and writes nothing', async (t, { double, client }, way) => {
  const answer = await client.appendToStream('note-1', [], { expectedRevision: NO_STREAM, ...way })
  t.is(answer.nextExpectedRevision, 0n)
  t.deepEqual(double.log(), [])
  await client.appendToStream('note-1', event(), { expectedRevision: NO_STREAM, ...way })
})

behaviour('a bad id, an empty type and an empty stream name are refused', async (t, { double, client }, way) => {
  const bad = [
    ['note-1', jsonEvent({ type: 'Noted', data: {}, id: 'no-uuid' })],
    ['note-1', jsonEvent({ type: '', data: {} })],
    ['', event()],
  ] as const
  for (const [stream, one] of bad) {
    const error = await t.throwsAsync(client.appendToStream(stream, one, way), { instanceOf: UnknownError })
    if (way.credentials === undefined) t.is(error.message, 'Could not recognize BadRequest')
  }
  // A real server would have broken the client with a second answer to the first two.
  await client.appendToStream('note-1', event(), way)
  t.is(double.log().length, 1)
})

behaviour('more than a mebibyte is refused, five thousand small events are not', async (t, opened, way) => {
  const { double, client } = opened
  const big = (bytes: number) => binaryEvent({ type: 'Big', data: Buffer.alloc(bytes) })
  const tooBig = [[big(mebibyte)], Array.from({ length: 40 }, () => big(100_000))]
  for (const events of tooBig) {
    const error = await t.throwsAsync(client.appendToStream('note-1', events, way), {
      instanceOf: MaxAppendSizeExceededError,
    })
    t.is(error.maxAppendSize, mebibyte)
  }
  await client.appendToStream('note-1', big(mebibyte - 6), way)
  const answer = await client.appendToStream('note-2', many(5000), way)
  t.is(answer.nextExpectedRevision, 4999n)
  t.is(double.log().length, 5001)
})

test.serial('23.10 counts only the data of an event, 24.10 its metadata and twice its type too', async (t) => {
  const event = binaryEvent({ type: 'Big', data: Buffer.alloc(mebibyte - 6), metadata: Buffer.alloc(1) })
  const older = await openDouble(t, '23.10')
  t.is((await older.client.appendToStream('note-1', event)).nextExpectedRevision, 0n)
  const newer = await openDouble(t, '24.10')
  await t.throwsAsync(newer.client.appendToStream('note-1', event), { instanceOf: MaxAppendSizeExceededError })
})

behaviour('any name and any content comes back as it was', async (t, { double, client }, way) => {
  const names = ['with spaces', 'with/slash', 'äccénts', '\u{1f600}', '$of-the-system']
  for (const name of names) {
    const json = jsonEvent({ type: 'Noted', data: { name }, metadata: { by: name } })
    const binary = binaryEvent({ type: 'Drawn', data: Buffer.from([0, 255, 1]) })
    const answer = await client.appendToStream(name, [json, binary], way)
    const [first, second] = await collect(client.readStream(name))
    t.like(first?.event, {
      streamId: name,
      id: json.id,
      type: 'Noted',
      data: { name },
      metadata: { by: name },
      isJson: true,
      revision: 0n,
    })
    t.like(second?.event, { isJson: false, metadata: undefined, revision: 1n })
    t.deepEqual(Buffer.from(second?.event?.data as Uint8Array), Buffer.from([0, 255, 1]))
    t.deepEqual(second?.event?.position, answer.position)
    t.true(Math.abs(Date.now() - (first?.event?.created.getTime() ?? 0)) < 60_000)
  }
  t.is(double.log().length, 2 * (names.length - 1), 'the log is shown without the events of the system')
})

test.serial('positions grow by the size of what is written, and the first event of ours is not at 0', async (t) => {
  const { double, client } = await openDouble(t)
  const sizes = [1, 1, 1000, 1]
  for (const size of sizes) {
    await client.appendToStream('note-1', binaryEvent({ type: 'Big', data: Buffer.alloc(size) }))
  }
  const [one = 0n, two = 0n, three = 0n, four = 0n] = double.log().map(({ position }) => position)
  t.true(one > 0n)
  t.true(two - one > 1n)
  t.is(three - two, two - one)
  t.is(four - three, two - one + 999n)
  const all = await collect(client.readAll())
  t.true(all.length > sizes.length)
  t.true(all[0]?.event?.streamId.startsWith('$'))
})

test.serial('a client that asks the gossip for the leader finds it', async (t) => {
  const { double } = await openDouble(t)
  const client = clientOf(t, `esdb+discover://127.0.0.1:${double.port}?tls=false`)
  const { success } = await client.appendToStream('note-1', event())
  t.true(success)
})

test.serial('what was asked for is counted', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', event())
  await t.throwsAsync(client.appendToStream('note-1', event(), { expectedRevision: NO_STREAM }))
  await collect(client.readStream('note-1'))
  const subscription = client.subscribeToStream('note-1')
  await once(subscription, 'caughtUp')
  t.deepEqual(double.calls(), { appends: 2, reads: 1, subscriptions: 1, cuts: 0 })
})

test.serial('in a process of its own it says where it is, and ends at a signal, whoever is connected', async (t) => {
  const { url, signal, exited } = await startDoubleProcess()
  t.teardown(() => signal('SIGKILL'))
  t.regex(url, /^esdb:\/\/127\.0\.0\.1:\d+\?tls=false$/)
  const client = clientOf(t, url)
  await client.appendToStream('note-1', event())
  const subscription = client.subscribeToAll().on('error', () => undefined)
  await once(subscription, 'caughtUp')
  signal('SIGTERM')
  t.deepEqual(await exited, { code: 0, signal: null })
})
