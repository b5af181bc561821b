import type { Db, Filter } from 'mongodb'
import { beginning, type Position } from '../../domain/event.js'
import { orThrow } from '../../domain/store-failed.js'
import { E } from '../../domain/prelude.js'
import type { Collection, Documents, IndexValue, Stored } from '../../projections/ports.js'
import { attemptOn, type Attempt } from './client/attempt.js'
import type { GenerationLocator } from './generations/locator.js'
import type { Place } from './generations/registry.js'
import { decodeEntry, decodeStored, decodeWalkedEntry, type DocumentRecord } from './records/document-record.js'
import { firstFieldOf, indexValuesOf, selectionOf } from './records/selection.js'
import type { Records, Server } from './servers/server.js'
import { checkpointOf, positionOfCheckpoint } from './writing/checkpoints.js'

/** Documents that a walk fetches at once. */
const pageSize = 1_000

/** Removed documents stay in their collections, for their positions. */
const isPresent = { _removed: { $exists: false } }

/**
 * A promoted generation takes over the plain name. A process that has not noticed may still write documents of the
 * former generation under that name, so each document carries the number of its generation.
 */
export const isOf =
  ({ serial }: Place) =>
  ({ _generation }: DocumentRecord): boolean =>
    _generation === serial

const inGeneration = (filter: Filter<DocumentRecord>, { serial }: Place): Filter<DocumentRecord> => ({
  $and: [filter, { _generation: serial }],
})

export const documentReads = (
  db: Db,
  locator: GenerationLocator,
  server: () => Promise<Server>,
): Pick<Documents, 'exists' | 'get' | 'find' | 'count' | 'values' | 'checkpoint' | 'all'> => {
  const recordsIn = ({ stored }: Place): Records => db.collection<DocumentRecord>(stored)
  const attempt = attemptOn(db)

  return {
    exists: (collection) => attempt(async () => (await locator.locate(collection)) !== undefined),

    get: (collection, keys) =>
      attempt(async () => {
        const wanted = [...new Set(keys)]
        if (wanted.length === 0) return new Map<string, Stored>()
        const { get } = await server()
        const found = await locator.read<ReadonlyArray<DocumentRecord>>(
          collection,
          [],
          async (place) => (await get(recordsIn(place), wanted)).filter(isOf(place)),
          ({ length }) => length === wanted.length,
        )
        return storedIn(found, wanted, collection)
      }),

    find: (collection, query) =>
      attempt(async () => {
        const { filter, sort } = selectionOf(collection, query)
        const { index, limit } = query
        // To MongoDB a limit of 0 is none.
        if (limit === 0) return []
        // Without the hint the planner may choose another index, by its experience with other queries.
        const options = { sort, limit, batchSize: limit, hint: index }
        const found = await locator.read<ReadonlyArray<DocumentRecord>>(
          collection,
          [],
          (place) => recordsIn(place).find(inGeneration(filter, place), options).toArray(),
          ({ length }) => length === limit,
        )
        return found.map((record) => decodeEntry(record, collection))
      }),

    count: (collection, part) =>
      attempt(() => {
        const { filter, options } =
          part === undefined
            ? { filter: isPresent, options: {} }
            : { ...selectionOf(collection, part), options: { hint: part.index, limit: part.limit } }
        return locator.read(
          collection,
          0,
          (place) => recordsIn(place).countDocuments(inGeneration(filter, place), options),
          () => false,
        )
      }),

    // Of all generations, since with a filter the server would read every document: of a foreign value `find` gives
    // nothing.
    values: (collection, index) =>
      attempt(() =>
        locator.read<ReadonlyArray<IndexValue>>(
          collection,
          [],
          async (place) => indexValuesOf(await recordsIn(place).distinct(firstFieldOf(collection, index))),
          () => false,
        ),
      ),

    checkpoint: (collection) =>
      attempt(async () => {
        const at = async (place: Place | undefined): Promise<Position | undefined> =>
          place && positionOfCheckpoint(db, checkpointOf(collection, place))
        // Where the checkpoint is gone the generation was replaced.
        return (await at(await locator.recent(collection))) ?? (await at(await locator.locate(collection))) ?? beginning
      }),

    all: (collection) => walk(collection, recordsIn, locator, attempt),
  }
}

const walk = async function* (
  collection: Collection,
  recordsIn: (place: Place) => Records,
  locator: GenerationLocator,
  attempt: Attempt,
): ReturnType<Documents['all']> {
  let place = orThrow(await attempt(() => locator.locate(collection)))
  while (place !== undefined) {
    let hasBegun = false
    const options = { sort: { _id: 1 }, batchSize: pageSize } as const
    const cursor = recordsIn(place).find(isPresent, options)
    let next = await attempt(() => cursor.next())
    try {
      for (; E.isRight(next) && next.right !== null; next = await attempt(() => cursor.next())) {
        if (!isOf(place)(next.right)) continue
        hasBegun = true
        yield decodeWalkedEntry(next.right, collection)
      }
    } finally {
      await attempt(() => cursor.close())
    }
    // A walk that has begun ends with an error where its generation is replaced: half of the old and half of the
    // new one would be neither.
    const located = hasBegun ? place : orThrow(await attempt(() => locator.locate(collection)))
    if (located?.serial === place.serial) {
      orThrow(next)
      return
    }
    place = located
  }
}

/** What stands under these keys, in their order. */
export const storedIn = (
  found: ReadonlyArray<DocumentRecord>,
  wanted: ReadonlyArray<string>,
  collection: Collection,
): ReadonlyMap<string, Stored> => {
  const byKey = new Map(found.map((record) => [record._id, decodeStored(record, collection)]))
  return new Map(wanted.flatMap((key) => entryOf(byKey, key)))
}

const entryOf = (stored: ReadonlyMap<string, Stored>, key: string): ReadonlyArray<readonly [string, Stored]> => {
  const one = stored.get(key)
  return one === undefined ? [] : [[key, one]]
}
