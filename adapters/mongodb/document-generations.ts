import type { Db } from 'mongodb'
import { sharedCalls } from '../in-process/shared-calls.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Collection, Documents } from '../../projections/ports.js'
import { attemptOn } from './client/attempt.js'
import { isThere } from './failure.js'
import type { GenerationLocator } from './generations/locator.js'
import { generationName, isNameOfBuild, type GenerationRegistry } from './generations/registry.js'
import { indexesOf } from './records/selection.js'
import type { Server } from './servers/server.js'
import { beginCheckpoint, checkpointOf, checkpointPrefixOf, checkpointsIn } from './writing/checkpoints.js'
import type { Starts } from './writing/starts.js'

type Ports = {
  readonly db: Db
  readonly registry: GenerationRegistry
  readonly locator: GenerationLocator
  readonly starts: Pick<Starts, 'at' | 'forget' | 'forgetAll'>
  readonly server: () => Promise<Server>
}

/** How generations come and go: a collection of the database for each. */
export const documentGenerations = ({
  db,
  registry,
  locator,
  starts,
  server,
}: Ports): Pick<Documents, 'prepare' | 'promote' | 'drop'> => {
  const attempt = attemptOn(db)
  const checkpoints = checkpointsIn(db)
  const preparing = sharedCalls<Either<StoreFailure, void>>()

  const create = async (collection: Collection): Promise<void> => {
    const place = await registry.add(collection)
    // A promotion needs it even if nothing was ever written to it.
    await createCollection(db, place.stored)
    // Now, because the index of a full collection takes longer than an operation may.
    await (await server()).createIndexes(db.collection(place.stored), indexesOf(collection))
    // So that the first batch finds it, as every other does.
    await beginCheckpoint(db, checkpointOf(collection, place))
    locator.confirm(collection, place)
  }
  /** Drops the collections of the database and the checkpoints that belong to no generation of a name any more. */
  const sweep = async (collection: Collection): Promise<void> => {
    const { name } = collection
    // In this order: what appears between the two was registered before it was made.
    const collections = await db.listCollections({}, { nameOnly: true }).toArray()
    const written = await checkpoints.find({}, { projection: { _id: 1 } }).toArray()
    const places = await registry.all(name)
    const stored = new Set(places.flatMap((place) => [place.stored, place.from]))
    const kept = new Set(places.map((place) => checkpointOf(collection, place)))
    for (const one of collections) {
      if (isNameOfBuild(name, one.name) && !stored.has(one.name)) await db.collection(one.name).drop()
    }
    const left = written.map(({ _id }) => _id).filter((_id) => _id.startsWith(checkpointPrefixOf(name)))
    await checkpoints.deleteMany({ _id: { $in: left.filter((_id) => !kept.has(_id)) } })
  }

  return {
    prepare: (collection) => preparing(generationName(collection), () => attempt(() => create(collection))),

    promote: async (collection) => {
      const promoted = await attempt(async () => {
        // Before the name is taken over, too: no missing document may count as one that does not exist.
        locator.forgetAll(collection.name)
        const place = await registry.promote(collection, starts.at({ ...collection, generation: 'next' }))
        locator.forgetAll(collection.name)
        starts.forgetAll(collection.name)
        locator.remember({ ...collection, generation: 'live' }, place)
      })
      // The promotion has succeeded, whatever the sweep meets: what it leaves goes with the next promotion.
      if (E.isRight(promoted)) await attempt(() => sweep(collection))
      return promoted
    },

    drop: (collection) =>
      attempt(async () => {
        const place = await registry.remove(collection)
        locator.forget(collection)
        starts.forget(collection)
        if (place !== undefined) {
          await db.collection(place.stored).drop()
          await checkpoints.deleteOne({ _id: checkpointOf(collection, place) })
        }
        // A process that had lost it may have written on: what it wrote stands under the former name of a build, and
        // nobody else drops it.
        await sweep(collection)
      }),
  }
}

const createCollection = async (db: Db, name: string): Promise<void> => {
  try {
    await db.createCollection(name)
  } catch (error) {
    if (!isThere(error)) throw error
  }
}
