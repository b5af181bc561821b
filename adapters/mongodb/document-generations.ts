import { sharedCalls } from '../in-process/shared-calls.js'
import type { Db } from 'mongodb'
import type { StoreFailure } from '../../domain/ports.js'
import type { Either } from '../../domain/prelude.js'
import type { Collection, Documents } from '../../projections/ports.js'
import { indexesOf } from './document-record.js'
import { beginCheckpoint, checkpointsIn, type DocumentWrites } from './document-writes.js'
import { tryCatch } from './failure.js'
import type { GenerationLocator } from './generations/locator.js'
import { generationName, prefixOf, type GenerationRegistry } from './generations/registry.js'

/** How generations come and go: a collection of the database for each. */
export const documentGenerations = (
  db: Db,
  registry: GenerationRegistry,
  locator: GenerationLocator,
  writes: Pick<DocumentWrites, 'forget' | 'forgetAll'>,
): Pick<Documents, 'prepare' | 'promote' | 'drop'> => {
  const checkpoints = checkpointsIn(db)
  const preparing = sharedCalls<Either<StoreFailure, void>>()

  const create = async (collection: Collection): Promise<void> => {
    const stored = await registry.add(collection)
    // Now, because the index of a full collection takes longer than an operation may. One by one, because FerretDB breaks the
    // connection when it is asked for several indexes that exist already.
    for (const index of indexesOf(collection)) await db.collection(stored).createIndexes([index])
    // So that the first batch finds it, as every other does.
    await beginCheckpoint(db, stored)
    locator.confirm(collection, stored)
  }
  const dropStored = async (stored: string): Promise<void> => {
    await db.collection(stored).drop()
    await checkpoints.deleteOne({ _id: stored })
  }
  /** Drops the collections of the database that belong to no generation of a name any more. */
  const sweep = async (name: string): Promise<void> => {
    // In this order: a collection that appears between the two was registered before it was made.
    const collections = await db.listCollections({}, { nameOnly: true }).toArray()
    const registered = await registry.stored(name)
    const found = collections.map((one) => one.name).filter((one) => one.startsWith(prefixOf(name)))
    for (const stored of found) if (!registered.includes(stored)) await dropStored(stored)
  }

  return {
    prepare: (collection) => preparing(generationName(collection), () => tryCatch(() => create(collection))),

    promote: (collection) =>
      tryCatch(async () => {
        const stored = await registry.promote(collection)
        locator.forgetAll(collection.name)
        writes.forgetAll(collection.name)
        locator.remember({ ...collection, generation: 'live' }, stored)
        // The promotion has succeeded, whatever the sweep meets: what it leaves goes with the next promotion.
        await tryCatch(() => sweep(collection.name))
      }),

    drop: (collection) =>
      tryCatch(async () => {
        const stored = await registry.remove(collection)
        locator.forget(collection)
        writes.forget(collection)
        if (stored !== undefined) await dropStored(stored)
      }),
  }
}
