import type { Collection as MongoCollection, Db } from 'mongodb'
import { beginning, positionOf, type Position } from '../../domain/event.js'
import type { Time } from '../../domain/ports.js'
import { misplacedIn, type Change, type Collection, type Documents } from '../../projections/ports.js'
import { encodeChange, fieldsOf } from './document-record.js'
import { isDuplicate, OperationFailed, tryCatch } from './failure.js'
import type { GenerationLocator } from './generations/locator.js'
import { generationName, prefixOf } from './generations/registry.js'
import { batchesAt } from './writing/batches.js'
import { confirmationOn } from './writing/confirmation.js'

export type DocumentWrites = Pick<Documents, 'apply' | 'checkpoint'> & {
  readonly forget: (collection: Collection) => void
  /** Forgets all versions and generations of a name. */
  readonly forgetAll: (name: string) => void
}

type CheckpointRecord = { readonly _id: string; readonly position: bigint }

/** How far each collection of the database has come in the log. */
export const checkpointsIn = (db: Db): MongoCollection<CheckpointRecord> => db.collection('checkpoints')

/** One that is there already stays. */
export const beginCheckpoint = async (db: Db, stored: string): Promise<void> => {
  try {
    await checkpointsIn(db).insertOne({ _id: stored, position: beginning })
  } catch (error) {
    if (!isDuplicate(error)) throw error
  }
}

/**
 * Writes without a transaction: each document is guarded by its own position, and the checkpoint follows the documents. What is
 * written again after a crash between the two changes nothing. A batch is one command for its documents, however many, and one
 * for the checkpoint, which tells too whether the generation was replaced.
 */
export const documentWrites = (db: Db, locator: GenerationLocator, time: Pick<Time, 'now'>): DocumentWrites => {
  const checkpoints = checkpointsIn(db)
  const confirmation = confirmationOn(db)
  const encode = encoder()
  const write = batchesAt(time)
  /** By generation: the collection in which this process read the checkpoint, or wrote its first change. */
  const startedIn = new Map<string, string>()

  /** Where this process began to write a generation, and goes on. */
  const startIn = async (collection: Collection): Promise<string> => {
    const started = startedIn.get(generationName(collection))
    if (started !== undefined) return started
    const stored = await locator.recent(collection)
    if (stored === undefined)
      throw new OperationFailed({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
    startedIn.set(generationName(collection), stored)
    return stored
  }
  /**
   * The checkpoint of a generation that was replaced is gone. What took its place may reflect less of the log: the caller must
   * start again from its checkpoint.
   */
  const advance = async (collection: Collection, stored: string, position: Position): Promise<void> => {
    const forward = { $max: { position } }
    const isThere = (await checkpoints.updateOne({ _id: stored }, forward)).matchedCount === 1
    if (isThere) {
      locator.confirm(collection, stored)
      return
    }
    if ((await locator.locate(collection)) !== stored)
      throw new OperationFailed({ kind: 'unavailable', reason: `${collection.name} was replaced` })
    await checkpoints.updateOne({ _id: stored }, forward, { upsert: true })
  }
  return {
    apply: (collection, changes, checkpoint) =>
      tryCatch(async () => {
        const misplaced = misplacedIn(changes, checkpoint)
        if (misplaced !== undefined) throw new OperationFailed(misplaced)
        const writes = encode(collection, changes)
        const stored = await startIn(collection)
        if (confirmation.isMissing(stored)) {
          await confirmation.obtain(stored)
          throw new OperationFailed({ kind: 'unavailable', reason: `${collection.name} must be read again` })
        }
        try {
          await write(db.collection(stored), writes)
          await advance(collection, stored, checkpoint)
        } catch (error) {
          confirmation.miss(stored)
          throw error
        }
      }),

    checkpoint: (collection) =>
      tryCatch(() =>
        locator.read<Position>(
          collection,
          beginning,
          async (stored) => {
            // A process that begins can't know what became of the last writes of the one before.
            const isFirst = startedIn.get(generationName(collection)) !== stored
            if (isFirst || confirmation.isMissing(stored)) await confirmation.obtain(stored)
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

/** Each change has a turn below that of the one before. */
const encoder = () => {
  let turn = 0
  return (collection: Collection, changes: ReadonlyArray<Change>): ReadonlyArray<ReturnType<typeof encodeChange>> => {
    const fields = fieldsOf(collection)
    return changes.map((change) => {
      turn -= 1
      return encodeChange(change, turn, fields)
    })
  }
}
