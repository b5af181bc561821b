import {
  BACKWARDS,
  END,
  FORWARDS,
  NO_STREAM,
  START,
  STREAM_EXISTS,
  StreamDeletedError,
  StreamNotFoundError,
  UnknownError,
  WrongExpectedVersionError,
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
  type Position,
  type ResolvedEvent,
} from '@eventstore/db-client'
import test, { type ExecutionContext } from 'ava'
import { collect, event, many, openDouble } from './open-double.js'

const revisionsOf = (events: ReadonlyArray<ResolvedEvent>): ReadonlyArray<bigint | undefined> =>
  events.map(({ event }) => event?.revision)

const idsOf = (events: ReadonlyArray<AllStreamResolvedEvent>): ReadonlyArray<string | undefined> =>
  events.map(({ event }) => event?.id)

const at = (position: bigint): Position => ({ commit: position, prepare: position })

const readNote = (client: EventStoreDBClient, ...[options]: readonly [Parameters<typeof client.readStream>[1]?]) =>
  collect(client.readStream('note-1', options))

test.serial('a stream is read from any revision in both directions', async (t) => {
  const { client } = await openDouble(t)
  await client.appendToStream('note-1', many(5))
  t.deepEqual(revisionsOf(await readNote(client)), [0n, 1n, 2n, 3n, 4n])
  t.deepEqual(revisionsOf(await readNote(client, { fromRevision: 2n, maxCount: 2 })), [2n, 3n])
  t.deepEqual(revisionsOf(await readNote(client, { fromRevision: 5n })), [])
  const backwards = { direction: BACKWARDS } as const
  t.deepEqual(revisionsOf(await readNote(client, { ...backwards, fromRevision: END, maxCount: 2 })), [4n, 3n])
  t.deepEqual(revisionsOf(await readNote(client, { ...backwards, fromRevision: 1n })), [1n, 0n])
  t.deepEqual(revisionsOf(await readNote(client, { ...backwards, fromRevision: START })), [0n])
})

test.serial('a missing stream is not found', async (t) => {
  const { client } = await openDouble(t)
  const error = await t.throwsAsync(readNote(client), { instanceOf: StreamNotFoundError })
  t.is(error.streamName, 'note-1')
})

test.serial('forwards from the end and no events at all can not be read', async (t) => {
  const { client } = await openDouble(t)
  await client.appendToStream('note-1', event())
  await t.throwsAsync(readNote(client, { fromRevision: END, direction: FORWARDS }), { instanceOf: UnknownError })
  await t.throwsAsync(readNote(client, { maxCount: 0 }), { instanceOf: UnknownError })
  await t.throwsAsync(collect(client.readAll({ maxCount: 0 })), { instanceOf: UnknownError })
})

test.serial('the log is read with its position forwards and without it backwards', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(2))
  await client.appendToStream('note-2', many(2))
  const logged = double.log()
  const ids = logged.map(({ id }) => id)
  const third = at(logged[2]?.position ?? 0n)
  t.deepEqual(idsOf(await collect(client.readAll({ fromPosition: third }))), ids.slice(2))
  t.deepEqual(idsOf(await collect(client.readAll({ fromPosition: third, maxCount: 1 }))), ids.slice(2, 3))
  const backwards = { direction: BACKWARDS } as const
  t.deepEqual(
    idsOf(await collect(client.readAll({ ...backwards, fromPosition: third, maxCount: 2 }))),
    ids.slice(0, 2).toReversed(),
  )
  const [last] = await collect(client.readAll({ ...backwards, fromPosition: END, maxCount: 1 }))
  t.is(last?.event?.id, ids[3])
  t.is(last?.commitPosition, logged[3]?.position)
  const all = idsOf(await collect(client.readAll()))
  t.deepEqual(all.slice(-4), ids)
  t.deepEqual(idsOf(await collect(client.readAll({ fromPosition: at(0n) }))), all)
  t.deepEqual(idsOf(await collect(client.readAll({ ...backwards, fromPosition: END }))), all.toReversed())
  t.deepEqual(await collect(client.readAll({ ...backwards, fromPosition: START })), [])
})

for (const [version, reason] of [
  ['23.10', 'Error'],
  ['24.10', 'InvalidPosition'],
] as const)
  test.serial(`a position beyond the end reads nothing, one that no event has fails on ${version}`, async (t) => {
    const { double, client } = await openDouble(t, version)
    await client.appendToStream('note-1', many(2))
    const [first = 0n, last = 0n] = double.log().map(({ position }) => position)
    t.deepEqual(await collect(client.readAll({ fromPosition: at(last + 1_000_000n) })), [])
    for (const direction of [FORWARDS, BACKWARDS] as const) {
      const error = await t.throwsAsync(collect(client.readAll({ fromPosition: at(first + 1n), direction })), {
        instanceOf: UnknownError,
      })
      t.is(error.code, 2)
      t.true(error.message.endsWith(`Unexpected ReadAllResult: ${reason}`))
    }
  })

const deleteNote = async (t: ExecutionContext) => {
  const opened = await openDouble(t)
  const events = many(2)
  await opened.client.appendToStream('note-1', events, { expectedRevision: NO_STREAM })
  const { position } = await opened.client.deleteStream('note-1')
  return { ...opened, events, position }
}

test.serial('a deleted stream is not found, and its events stay in the log', async (t) => {
  const { client, events, position } = await deleteNote(t)
  await t.throwsAsync(readNote(client), { instanceOf: StreamNotFoundError })
  const all = await collect(client.readAll())
  const ids = idsOf(all)
  t.true(events.every(({ id }) => ids.includes(id)))
  t.is(all.at(-1)?.event?.type, '$metadata')
  t.deepEqual(all.at(-1)?.event?.position, position)
})

test.serial('a deleted stream does not exist, and goes on at its old revision', async (t) => {
  const { client } = await deleteNote(t)
  await t.throwsAsync(client.appendToStream('note-1', event(), { expectedRevision: STREAM_EXISTS }), {
    instanceOf: StreamDeletedError,
  })
  const answer = await client.appendToStream('note-1', event(), { expectedRevision: 1n })
  t.is(answer.nextExpectedRevision, 2n)
  t.deepEqual(revisionsOf(await readNote(client)), [2n])
  t.deepEqual(revisionsOf(await readNote(client, { direction: BACKWARDS, fromRevision: END })), [2n])
})

test.serial('a deleted stream that begins anew goes on counting', async (t) => {
  const { client } = await deleteNote(t)
  const answer = await client.appendToStream('note-1', event(), { expectedRevision: NO_STREAM })
  t.is(answer.nextExpectedRevision, 2n)
  t.deepEqual(revisionsOf(await readNote(client)), [2n])
})

test.serial('a deleted stream does not come back with the ids that it had', async (t) => {
  const { double, client, events } = await deleteNote(t)
  const [first] = events
  const answer = await client.appendToStream('note-1', first ?? event(), { expectedRevision: NO_STREAM })
  t.deepEqual(answer, { success: true, nextExpectedRevision: 0n, position: undefined })
  await t.throwsAsync(readNote(client), { instanceOf: StreamNotFoundError })
  t.is(double.log().length, 2)
})

test.serial('only a stream that is there, at its revision, can be deleted', async (t) => {
  const { client } = await openDouble(t)
  const missing = await t.throwsAsync(client.deleteStream('note-1'), { instanceOf: WrongExpectedVersionError })
  t.is(missing.actualVersion, -1n)
  await client.appendToStream('note-1', many(2))
  const wrong = await t.throwsAsync(client.deleteStream('note-1', { expectedRevision: 0n }), {
    instanceOf: WrongExpectedVersionError,
  })
  t.is(wrong.actualVersion, 1n)
  await client.deleteStream('note-1', { expectedRevision: 1n })
})

test.serial('a stream with a tombstone is gone for ever', async (t) => {
  const { client } = await openDouble(t)
  const credentials = { username: 'admin', password: 'changeit' }
  await client.appendToStream('note-1', event())
  await client.tombstoneStream('note-1')
  const gone = { instanceOf: StreamDeletedError }
  const error = await t.throwsAsync(readNote(client), gone)
  t.is(error.streamName, 'note-1')
  for (const expectedRevision of [NO_STREAM, STREAM_EXISTS, 'any', 0n] as const) {
    await t.throwsAsync(client.appendToStream('note-1', event(), { expectedRevision }), gone)
    await t.throwsAsync(client.appendToStream('note-1', event(), { expectedRevision, credentials }), gone)
  }
  await t.throwsAsync(client.deleteStream('note-1'), gone)
  await t.throwsAsync(collect(client.subscribeToStream('note-1')), gone)
})

test.serial('of a stream with a $maxCount only the newest are read, and its revisions go on counting', async (t) => {
  const { client } = await openDouble(t)
  await client.setStreamMetadata('note-1', { maxCount: 2 })
  await client.appendToStream('note-1', many(3))
  t.deepEqual(revisionsOf(await readNote(client)), [1n, 2n])
  await client.appendToStream('note-1', many(1), { expectedRevision: 2n })
  t.deepEqual(revisionsOf(await readNote(client)), [2n, 3n])
})
