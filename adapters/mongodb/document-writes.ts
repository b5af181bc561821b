import type { AnyBulkWriteOperation, Collection as MongoCollection, Db } from 'mongodb'
import { beginning, positionOf, type Position } from '../../domain/event.js'
import type { Time } from '../../domain/ports.js'
import { misplacedIn, type Change, type Collection, type Documents } from '../../projections/ports.js'
import { adaptiveBatchSize } from './batch-size.js'
import { encodeChange, fieldsOf, type DocumentRecord } from './document-record.js'
import { isDuplicate, OperationFailed, tryCatch } from './failure.js'
import type { GenerationLocator } from './generation-locator.js'
import { generationName, prefixOf } from './generation-registry.js'

export type DocumentWrites = Pick<Documents, 'apply' | 'checkpoint'> & {
  readonly forget: (collection: Collection) => void
  /** Forgets all versions and generations of a name. */
  readonly forgetAll: (name: string) => void
}

type CheckpointRecord = { readonly _id: string; readonly position: bigint }
type Records = MongoCollection<DocumentRecord>
type Write = AnyBulkWriteOperation<DocumentRecord>

/** How far each collection of the database has come in the log. */
export const checkpointsIn = (db: Db): MongoCollection<CheckpointRecord> => db.collection('checkpoints')

/**
 * Writes without a transaction: each document is guarded by its own position, and the checkpoint follows the documents. What is
 * written again after a crash between the two changes nothing.
 */
export const documentWrites = (db: Db, locator: GenerationLocator, { now }: Pick<Time, 'now'>): DocumentWrites => {
  const checkpoints = checkpointsIn(db)
  const batchSize = adaptiveBatchSize()
  /** By generation: the collection in which this process read the checkpoint, or wrote its first change. */
  const startedIn = new Map<string, string>()
  let turn = 0

  const write = async (records: Records, changes: ReadonlyArray<Change>, fields: ReadonlyArray<string>) => {
    const writes = changes.map((change) => {
      turn -= 1
      return encodeChange(change, turn, fields)
    })
    for (let done = 0; done < writes.length;) {
      const batch = writes.slice(done, done + batchSize.current())
      const start = now()
      try {
        await writeBatch(records, batch)
      } finally {
        batchSize.adapt(batch.length, now() - start)
      }
      done += batch.length
    }
  }
  return {
    apply: (collection, changes, checkpoint) =>
      tryCatch(async () => {
        const misplaced = misplacedIn(changes, checkpoint)
        if (misplaced !== undefined) throw new OperationFailed(misplaced)
        const stored = await locator.locate(collection)
        if (stored === undefined)
          throw new OperationFailed({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
        const started = startedIn.get(generationName(collection)) ?? stored
        startedIn.set(generationName(collection), started)
        // A generation that replaced it may reflect less of the log: the caller must start again from its checkpoint.
        if (started !== stored)
          throw new OperationFailed({ kind: 'unavailable', reason: `${collection.name} was replaced` })
        await write(db.collection(stored), changes, fieldsOf(collection))
        await checkpoints.updateOne({ _id: stored }, { $max: { position: checkpoint } }, { upsert: true })
      }),

    checkpoint: (collection) =>
      tryCatch(() =>
        locator.read<Position>(
          collection,
          beginning,
          async (stored) => {
            startedIn.set(generationName(collection), stored)
            const written = await checkpoints.findOne({ _id: stored })
            return written === null ? beginning : positionOf(written.position)
          },
          (position) => position !== beginning,
        ),
      ),

    forget: (collection) => void startedIn.delete(generationName(collection)),
    forgetAll: (name) => {
      for (const generation of startedIn.keys()) {
        if (generation.startsWith(prefixOf(name))) startedIn.delete(generation)
      }
    },
  }
}

/** A document that another process inserted meanwhile is there when the batch is written again. */
const writeBatch = async (records: Records, batch: ReadonlyArray<Write>, retries = batch.length): Promise<void> => {
  try {
    await records.bulkWrite(batch, { ordered: false })
  } catch (error) {
    if (retries === 0 || !isDuplicate(error)) throw error
    await writeBatch(records, batch, retries - 1)
  }
}
