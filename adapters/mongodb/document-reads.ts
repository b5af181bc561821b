import type { Collection as MongoCollection, Db } from 'mongodb'
import { orThrow, StoreFailed } from '../../domain/store-failed.js'
import type { Collection, Documents, IndexValue, Stored } from '../../projections/ports.js'
import {
  decodeEntry,
  decodeStored,
  decodeWalkedEntry,
  firstPathOf,
  readFields,
  selectionOf,
  type DocumentRecord,
} from './document-record.js'
import { storeFailure, tryCatch } from './failure.js'
import type { GenerationLocator } from './generations/locator.js'

/** Documents that a walk fetches at once. */
const pageSize = 1_000

/** Removed documents stay in their collections, for their positions. */
const isPresent = { 'change.body': { $exists: true } }

export const documentReads = (
  db: Db,
  locator: GenerationLocator,
): Pick<Documents, 'exists' | 'get' | 'find' | 'count' | 'all'> => {
  const recordsIn = (stored: string) => db.collection<DocumentRecord>(stored)

  return {
    exists: (collection) => tryCatch(async () => (await locator.locate(collection)) !== undefined),

    get: (collection, keys) =>
      tryCatch(async () => {
        const wanted = [...new Set(keys)]
        if (wanted.length === 0) return new Map<string, Stored>()
        const found = await locator.read(
          collection,
          [],
          (stored) => recordsOf(recordsIn(stored), wanted),
          ({ length }) => length === wanted.length,
        )
        return new Map(found.map((record) => [record._id, decodeStored(record)]))
      }),

    find: (collection, query) =>
      tryCatch(async () => {
        const { filter, sort } = selectionOf(collection, query)
        const { index, limit } = query
        // To MongoDB a limit of 0 is none.
        if (limit === 0) return []
        // Without the hint the planner may choose another index, by its experience with other queries.
        const options = { sort, limit, batchSize: limit, hint: index, projection: readFields }
        const found = await locator.read<ReadonlyArray<DocumentRecord>>(
          collection,
          [],
          (stored) => recordsIn(stored).find(filter, options).toArray(),
          ({ length }) => length === limit,
        )
        return found.map(decodeEntry)
      }),

    count: (collection, part) =>
      tryCatch(() => {
        const { filter, options } =
          part === undefined
            ? { filter: isPresent, options: {} }
            : { ...selectionOf(collection, part), options: { hint: part.index, limit: part.limit } }
        return locator.read(
          collection,
          0,
          (stored) => recordsIn(stored).countDocuments(filter, options),
          () => false,
        )
      }),

    all: async function* (collection: Collection): ReturnType<Documents['all']> {
      let stored = orThrow(await tryCatch(() => locator.locate(collection)))
      while (stored !== undefined) {
        let hasBegun = false
        let failure: unknown
        try {
          const options = { sort: { _id: 1 }, batchSize: pageSize, projection: readFields } as const
          for await (const record of recordsIn(stored).find(isPresent, options)) {
            hasBegun = true
            yield decodeWalkedEntry(record)
          }
        } catch (error) {
          failure = error
        }
        // A walk that has begun ends with an error where its generation is replaced: half of the old and half of the
        // new one would be neither.
        const located = hasBegun ? stored : orThrow(await tryCatch(() => locator.locate(collection)))
        if (located === stored) {
          if (failure !== undefined) throw new StoreFailed(storeFailure(failure))
          return
        }
        stored = located
      }
    },
  }
}

export const valuesIn =
  (db: Db, locator: GenerationLocator): Documents['values'] =>
  (collection, index) =>
    tryCatch(() =>
      locator.read<ReadonlyArray<IndexValue>>(
        collection,
        [],
        (stored) => db.collection(stored).distinct(firstPathOf(collection, index)),
        () => false,
      ),
    )

/**
 * In the order of the keys. It is one command, however many there are: for a list of keys FerretDB reads the whole collection, for
 * a single key it does not.
 */
const recordsOf = async (
  records: MongoCollection<DocumentRecord>,
  keys: ReadonlyArray<string>,
): Promise<ReadonlyArray<DocumentRecord>> => {
  const [only] = keys
  const filter = only !== undefined && keys.length === 1 ? { _id: only } : { _id: { $in: keys } }
  const options = { projection: readFields, limit: keys.length, batchSize: keys.length }
  const found = await records.find(filter, options).toArray()
  const byKey = new Map(found.map((record) => [record._id, record]))
  return keys.flatMap((key) => byKey.get(key) ?? [])
}
