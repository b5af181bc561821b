import type { Collection as MongoCollection, Db } from 'mongodb'
import { beginning, positionOf, type Position } from '../../../domain/event.js'
import type { Collection } from '../../../projections/ports.js'
import { isDuplicate } from '../failure.js'
import type { Place } from '../generations/registry.js'

type CheckpointRecord = { readonly _id: string; readonly position: bigint }

/** How far each generation has come in the log. */
export const checkpointsIn = (db: Db): MongoCollection<CheckpointRecord> => db.collection('checkpoints')

/** The beginning of the names of the checkpoints of all generations of `name`. */
export const checkpointPrefixOf = (name: string): string => `${name}#`

export const checkpointOf = ({ name }: Collection, { serial }: Place): string => `${checkpointPrefixOf(name)}${serial}`

/** Undefined where there is none. */
export const positionOfCheckpoint = async (db: Db, checkpoint: string): Promise<Position | undefined> => {
  const written = await checkpointsIn(db).findOne({ _id: checkpoint })
  return written === null ? undefined : positionOf(written.position)
}

/** One that is there already stays. */
export const beginCheckpoint = async (db: Db, checkpoint: string): Promise<void> => {
  try {
    await checkpointsIn(db).insertOne({ _id: checkpoint, position: beginning })
  } catch (error) {
    if (!isDuplicate(error)) throw error
  }
}

/** Moves it forward, and tells whether it was there. */
export const advanceCheckpoint = async (db: Db, checkpoint: string, position: Position): Promise<boolean> =>
  (await checkpointsIn(db).updateOne({ _id: checkpoint }, { $max: { position } })).matchedCount === 1
