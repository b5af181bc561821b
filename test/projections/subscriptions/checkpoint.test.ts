import test from 'ava'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { beginning } from '../../../domain/event.js'
import type { EventBatch, EventStore } from '../../../domain/ports.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { alsoInEventStore, checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import type { Documents } from '../../../projections/ports.js'
import { testLease } from '../../kit/parts/lease.js'
import { openSqlite } from '../../kit/stores/sqlite.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { isOver } from '../../kit/time/turns.js'
import { rightOf } from '../../kit/right-of.js'
import { positionAt } from '../../kit/domain/samples.js'

/** A batch of no events: it moves the checkpoint in the documents. */
const handled = (position: number | bigint): EventBatch => ({ events: [], position: positionAt(position) })

const saved = async (documents: Documents, name = 'reactions') =>
  rightOf(await documents.confirmedCheckpoint(checkpointCollection(name)))

test('a checkpoint begins at the beginning and goes on where it was saved', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 1n)
  t.is(await checkpoint.load(), beginning)
  await checkpoint.advance(handled(7))
  t.is(await saved(documents), positionAt(7))
  t.is(await checkpointIn(documents, 'reactions', 1n).load(), positionAt(7))
  t.is(await checkpointIn(documents, 'another', 1n).load(), beginning)
  await close()
})

test('a position is saved once it is an interval beyond the one that was saved before', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 500n)
  await checkpoint.load()
  for (const [position, expected] of [
    [1n, 0n],
    [499n, 0n],
    [500n, 500n],
    [999n, 500n],
    [1_500n, 1_500n],
    [1_501n, 1_500n],
  ] as const) {
    await checkpoint.advance(handled(position))
    t.is(await saved(documents), positionAt(expected))
  }
  const again = checkpointIn(documents, 'reactions', 500n)
  await again.load()
  await again.advance(handled(1_999))
  t.is(await saved(documents), positionAt(1_500))
  await again.advance(handled(2_000))
  t.is(await saved(documents), positionAt(2_000))
  await close()
})

test('with an interval of one every position is saved', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 1n)
  await checkpoint.load()
  for (const position of [1n, 2n, 3n]) {
    await checkpoint.advance(handled(position))
    t.is(await saved(documents), positionAt(position))
  }
  await close()
})

test('a flush saves the last position, and a saved position never goes back', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 500n)
  await checkpoint.load()
  await checkpoint.advance(handled(20))
  await checkpoint.flush(positionAt(20))
  t.is(await saved(documents), positionAt(20))
  await checkpoint.advance(handled(10))
  await checkpoint.flush(positionAt(10))
  t.is(await saved(documents), positionAt(20))
  await close()
})

test('a position that is saved already is not written again', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  let writes = 0
  const counted: Documents = {
    ...documents,
    apply: (...args) => {
      writes += 1
      return documents.apply(...args)
    },
  }
  const checkpoint = checkpointIn(counted, 'reactions', 1n)
  await checkpoint.load()
  for (let times = 0; times < 3; times += 1) {
    await checkpoint.advance(handled(5))
    await checkpoint.flush(positionAt(5))
  }
  t.is(writes, 1)
  await close()
})

test('a save that fails is thrown and tried with the next one; a flush that fails is not thrown', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const lease = testLease('reactions')
  const checkpoint = checkpointIn(guardedDocuments(documents, lease), 'reactions', 1n)
  await checkpoint.load()
  await checkpoint.advance(handled(5))
  lease.expire()
  await t.throwsAsync(checkpoint.advance(handled(6)), { instanceOf: StoreFailed })
  await checkpoint.flush(positionAt(6))
  t.is(await saved(documents), positionAt(5))
  await t.throwsAsync(checkpointIn(guardedDocuments(documents, lease), 'reactions', 1n).load(), {
    instanceOf: StoreFailed,
  })
  await close()
})

/** A batch in which there was something to do. */
const worked = (position: number): EventBatch => ({
  events: [{ position: positionAt(position) } as RecordedEvent],
  position: positionAt(position),
})

/**
 * A checkpoint of reactions in documents and in an event store, how often the latter was to save it, and time that
 * stands still.
 */
const openBoth = () => {
  const inMemory = memoryEventStore(memoryLog())
  const time = manualTime()
  const logger = recordingLogger()
  let saves = 0
  let save = inMemory.saveCheckpoint
  const store: EventStore = {
    ...inMemory,
    saveCheckpoint: (...args) => {
      saves += 1
      return save(...args)
    },
  }
  const begin = (documents: Documents) =>
    alsoInEventStore(checkpointIn(documents, 'reactions', 1n), 'reactions', {
      store,
      monotonic: time.process(),
      logger,
    })
  return {
    begin,
    time,
    logger,
    saves: () => saves,
    inEventStore: async () => rightOf(await store.checkpoint('reactions')),
    /** Saves are answered so, or as usual. */
    answerSaves: (answer: EventStore['saveCheckpoint'] = inMemory.saveCheckpoint) => {
      save = answer
    },
  }
}

const noDocuments = (): Documents => memoryDocuments(documentState())

test('what was handled is saved in the event store every five seconds, and not with each batch', async (t) => {
  const { begin, time, inEventStore, saves } = openBoth()
  const checkpoint = begin(noDocuments())
  await checkpoint.load()
  for (let position = 1; position <= 100; position += 1) await checkpoint.advance(worked(position))
  t.is(saves(), 0)
  await time.advance(5_000)
  t.is(await inEventStore(), positionAt(100))
  for (let position = 101; position <= 200; position += 1) await checkpoint.advance(worked(position))
  await time.advance(4_999)
  t.is(saves(), 1)
  await checkpoint.flush(positionAt(200))
  t.is(await inEventStore(), positionAt(200))
  t.is(saves(), 2)
})

test('the last events of a burst are saved in the event store within five seconds, and then nothing more', async (t) => {
  const { begin, time, inEventStore, saves } = openBoth()
  const checkpoint = begin(noDocuments())
  await checkpoint.load()
  await checkpoint.advance(worked(1))
  await time.advance(4_000)
  await checkpoint.advance(worked(2))
  await time.advance(5_000)
  t.is(await begin(noDocuments()).load(), positionAt(2), 'a process that was killed now does nothing again')
  await time.advance(60_000)
  t.is(saves(), 1)
  await checkpoint.advance(worked(3))
  await time.advance(5_000)
  t.is(await inEventStore(), positionAt(3))
})

test('the work goes on while the event store refuses a checkpoint, which is logged once and tried ever less often', async (t) => {
  const { begin, time, logger, inEventStore, saves, answerSaves } = openBoth()
  answerSaves(() => Promise.resolve(E.left({ kind: 'corrupt', reason: 'access denied' })))
  const checkpoint = begin(noDocuments())
  await checkpoint.load()
  for (let position = 1; position <= 200; position += 1) {
    await checkpoint.advance(worked(position))
    await time.advance(1_000)
  }
  t.is(saves(), 6, 'after 5, 15, 35, 75, 135 and 195 seconds')
  t.deepEqual(
    logger.lines.map(({ fields }) => fields),
    [{ follower: 'reactions', reason: 'access denied' }],
  )
  answerSaves()
  await time.advance(60_000)
  t.is(await inEventStore(), positionAt(200))
})

test('the work does not wait for the event store to save a checkpoint, and one save at most is under way', async (t) => {
  const { begin, time, inEventStore, saves, answerSaves } = openBoth()
  let answer = (): void => undefined
  answerSaves(async () => {
    await new Promise<void>((resolve) => (answer = resolve))
    return E.right(undefined)
  })
  const checkpoint = begin(noDocuments())
  await checkpoint.load()
  for (let position = 1; position <= 20; position += 1) {
    await checkpoint.advance(worked(position))
    await time.advance(1_000)
  }
  t.is(saves(), 1)
  answerSaves()
  answer()
  await time.advance(5_000)
  t.is(saves(), 2)
  t.is(await inEventStore(), positionAt(20))
})

test('an end waits a second for an event store that is frozen, and no longer', async (t) => {
  const { begin, time, answerSaves } = openBoth()
  answerSaves(() => new Promise(() => undefined))
  for (const unsavedFor of [0, 5_000]) {
    const checkpoint = begin(noDocuments())
    await checkpoint.load()
    await checkpoint.advance(worked(1))
    await time.advance(unsavedFor)
    const flushed = checkpoint.flush(positionAt(1))
    t.false(await isOver(flushed))
    await time.advance(1_000)
    t.true(await isOver(flushed))
  }
})

test('where nothing was handled nothing is written to the event store, however far its log goes on', async (t) => {
  const { begin, time, inEventStore, saves } = openBoth()
  const documents = noDocuments()
  const checkpoint = begin(documents)
  await checkpoint.load()
  await checkpoint.advance(worked(7))
  await time.advance(5_000)
  t.is(saves(), 1)
  for (let position = 8; position <= 20; position += 1) {
    await checkpoint.advance(handled(position))
    await time.advance(5_000)
  }
  await checkpoint.flush(positionAt(21))
  const again = begin(documents)
  await again.load()
  await again.advance(handled(22))
  await time.advance(5_000)
  await again.flush(positionAt(22))
  t.is(await inEventStore(), positionAt(7))
  t.is(saves(), 1)
})

test('with new documents a process manager goes on from the event store, and from the documents where they are further', async (t) => {
  const { begin } = openBoth()
  const documents = noDocuments()
  const checkpoint = begin(documents)
  t.is(await checkpoint.load(), beginning)
  await checkpoint.advance(worked(7))
  await checkpoint.flush(positionAt(7))
  t.is(await begin(noDocuments()).load(), positionAt(7))
  await checkpoint.advance(worked(9))
  t.is(await begin(documents).load(), positionAt(9), 'the process ended before it saved it in the event store')
  t.is(await begin(noDocuments()).load(), positionAt(7))
})

test('a log that an older version wrote goes on from the documents, and the event store has it from then on', async (t) => {
  const { begin, time, inEventStore } = openBoth()
  const documents = noDocuments()
  const older = checkpointIn(documents, 'reactions', 1n)
  await older.load()
  await older.advance(worked(7))
  const checkpoint = begin(documents)
  t.is(await checkpoint.load(), positionAt(7))
  await checkpoint.advance(handled(8))
  await time.advance(5_000)
  t.is(await inEventStore(), positionAt(7))
  t.is(await begin(noDocuments()).load(), positionAt(7))
})

test('a process that lost its lease does not move it back', async (t) => {
  const { begin, inEventStore } = openBoth()
  const [older, newer] = [begin(noDocuments()), begin(noDocuments())]
  await older.load()
  await older.advance(worked(7))
  await newer.load()
  await newer.advance(worked(9))
  await newer.flush(positionAt(9))
  await older.flush(positionAt(7))
  t.is(await inEventStore(), positionAt(9))
})
