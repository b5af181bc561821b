import { MongoServerError, type AnyBulkWriteOperation, type Collection as Stores, type Db } from 'mongodb'
import { performance } from 'node:perf_hooks'
import { beginning, type Position } from '../../domain/event.js'
import type { StoreFailure } from '../../domain/ports.js'
import type { Either } from '../../domain/prelude.js'
import { orThrow, StoreFailed } from '../../domain/store-failed.js'
import type { Change, Collection, Documents, Stored } from '../../projections/ports.js'
import {
  entryOf,
  fieldsOf,
  indexesOf,
  readFields,
  selectionOf,
  storedOf,
  writeOf,
  type DocumentRecord,
} from './document-record.js'
import { Failed, isDuplicate, storeFailure, tried } from './failure.js'
import { generationsIn, prefixOf } from './generations.js'
import { pace } from './batch-size.js'

type Checkpoint = { readonly _id: string; readonly position: bigint }

/** Where a generation was found, and when. */
type Found = { readonly stored: string; readonly at: number }

type Records = Stores<DocumentRecord>
type Write = AnyBulkWriteOperation<DocumentRecord>

/** In milliseconds. */
const longestTrust = 1_000

/** A server that can't look up a list of keys (FerretDB reads everything for it) can still look up one. */
const fewKeys = 8

const pageSize = 1_000

/**
 * The `Documents` port on MongoDB: a collection of the database for each generation, the checkpoints beside them. It needs no
 * transaction: each document is guarded by its own position, and the checkpoint follows the documents.
 */
export const mongoDocuments = (db: Db): Documents => {
  const generations = generationsIn(db)
  const checkpoints = db.collection<Checkpoint>('checkpoints')
  const known = new Map<string, Found>()
  /** Where the checkpoint was read from, or the first change went, that later changes go on from. */
  const begun = new Map<string, string>()
  const preparing = new Map<string, Promise<Either<StoreFailure, void>>>()
  const { size, took } = pace()
  let turn = 0

  const recordsIn = (stored: string): Records => db.collection(stored)

  const remember = (collection: Collection, stored: string | undefined): void => {
    if (stored === undefined) known.delete(nameOf(collection))
    else known.set(nameOf(collection), { stored, at: performance.now() })
  }
  const forget = (collection: Collection): void => {
    known.delete(nameOf(collection))
    begun.delete(nameOf(collection))
  }
  const locate = async (collection: Collection): Promise<string | undefined> => {
    const stored = await generations.find(collection)
    remember(collection, stored)
    return stored
  }
  /** Trusted for a moment only: what was replaced goes on standing there if whoever replaced it died before dropping it. */
  const located = (collection: Collection): Promise<string | undefined> => {
    const found = known.get(nameOf(collection))
    return found !== undefined && performance.now() - found.at < longestTrust
      ? Promise.resolve(found.stored)
      : locate(collection)
  }

  /**
   * Reads from a generation; `none` where there is none. Where something is missing another process may have replaced and
   * dropped what was read, so it is asked whether that is still the right place: a reader sees one generation whole.
   */
  const reading = async <A>(
    collection: Collection,
    none: A,
    read: (stored: string) => Promise<A>,
    isWhole: (found: A) => boolean,
  ): Promise<A> => {
    let stored = await located(collection)
    while (stored !== undefined) {
      const place = stored
      let outcome: () => A
      try {
        const found = await read(place)
        if (isWhole(found)) return found
        outcome = () => found
      } catch (error) {
        // Only the server can have found it gone.
        if (!(error instanceof MongoServerError)) throw error
        outcome = () => {
          throw error
        }
      }
      stored = await locate(collection)
      if (stored === place) return outcome()
    }
    return none
  }

  const prepare: Documents['prepare'] = (collection) => {
    const name = nameOf(collection)
    const create = async (): Promise<void> => {
      const stored = await generations.add(collection)
      // Now, for a full collection's index takes longer than an operation may; and one by one, for FerretDB breaks the
      // connection when it is asked for several that it has already.
      for (const index of indexesOf(collection)) await recordsIn(stored).createIndexes([index])
      remember(collection, stored)
    }
    const underWay = preparing.get(name) ?? tried(create).finally(() => preparing.delete(name))
    preparing.set(name, underWay)
    return underWay
  }

  const exists: Documents['exists'] = (collection) => tried(async () => (await locate(collection)) !== undefined)

  const get: Documents['get'] = (collection, keys) =>
    tried(async () => {
      const wanted = [...new Set(keys)]
      if (wanted.length === 0) return new Map<string, Stored>()
      const found = await reading(
        collection,
        [],
        (stored) => recordsOf(recordsIn(stored), wanted),
        ({ length }) => length === wanted.length,
      )
      return new Map(found.map((record) => [record._id, storedOf(record)]))
    })

  const find: Documents['find'] = (collection, query) =>
    tried(async () => {
      const { filter, sort } = selectionOf(collection, query)
      // To MongoDB a limit of 0 is none.
      if (query.limit === 0) return []
      const { index, limit } = query
      const found = await reading<ReadonlyArray<DocumentRecord>>(
        collection,
        [],
        // The hint keeps the planner from choosing another index by whatever it saw of earlier queries.
        (stored) =>
          recordsIn(stored)
            .find(filter, { sort, limit, batchSize: limit, hint: index, projection: readFields })
            .toArray(),
        ({ length }) => length === limit,
      )
      return found.map(entryOf)
    })

  const count: Documents['count'] = (collection, part) =>
    tried(() => {
      const { filter, hint } =
        part === undefined ? { filter: present } : { ...selectionOf(collection, part), hint: part.index }
      return reading(
        collection,
        0,
        (stored) => recordsIn(stored).countDocuments(filter, hint === undefined ? {} : { hint }),
        () => false,
      )
    })

  /** Ends with an error where it is replaced in the middle: half of one generation and half of another are neither. */
  async function* all(collection: Collection): ReturnType<Documents['all']> {
    let stored = orThrow(await tried(() => locate(collection)))
    while (stored !== undefined) {
      let isBegun = false
      let failure: unknown
      try {
        const options = { sort: { _id: 1 }, batchSize: pageSize, projection: readFields } as const
        for await (const record of recordsIn(stored).find(present, options)) {
          isBegun = true
          yield entryOf(record)
        }
      } catch (error) {
        failure = error
      }
      const now = isBegun ? stored : orThrow(await tried(() => locate(collection)))
      if (now === stored) {
        if (failure !== undefined) throw new StoreFailed(storeFailure(failure))
        return
      }
      stored = now
    }
  }

  const write = async (records: Records, changes: ReadonlyArray<Change>, fields: ReadonlyArray<string>) => {
    const writes = changes.map((change) => {
      turn -= 1
      return writeOf(change, turn, fields)
    })
    for (let done = 0; done < writes.length;) {
      const some = writes.slice(done, done + size())
      const start = performance.now()
      try {
        await send(records, some)
      } finally {
        took(some.length, performance.now() - start)
      }
      done += some.length
    }
  }

  const apply: Documents['apply'] = (collection, changes, checkpoint) =>
    tried(async () => {
      const stored = await locate(collection)
      if (stored === undefined) throw new Failed({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
      const from = begun.get(nameOf(collection)) ?? stored
      begun.set(nameOf(collection), from)
      // What replaced it may reflect less of the log: whoever goes on here must begin again from its checkpoint.
      if (from !== stored) throw new Failed({ kind: 'unavailable', reason: `${collection.name} was replaced` })
      await write(recordsIn(stored), changes, fieldsOf(collection))
      await checkpoints.updateOne({ _id: stored }, { $max: { position: checkpoint } }, { upsert: true })
    })

  const checkpoint: Documents['checkpoint'] = (collection) =>
    tried(() =>
      reading<Position>(
        collection,
        beginning,
        async (stored) => {
          begun.set(nameOf(collection), stored)
          return (await checkpoints.findOne({ _id: stored }))?.position ?? beginning
        },
        (position) => position !== beginning,
      ),
    )

  const promote: Documents['promote'] = (collection) =>
    tried(async () => {
      const stored = await generations.promote(collection)
      for (const name of [...known.keys(), ...begun.keys()]) {
        if (name.startsWith(prefixOf(collection.name))) {
          known.delete(name)
          begun.delete(name)
        }
      }
      remember({ ...collection, generation: 'live' }, stored)
      // It is promoted by now, whatever else happens. What stays behind goes with the next promotion.
      await tried(() => sweep(collection.name))
    })

  /** Drops what no generation of a name holds any more. */
  const sweep = async (name: string): Promise<void> => {
    // In this order: what is made in between has been registered before.
    const collections = await db.listCollections({}, { nameOnly: true }).toArray()
    const registered = await generations.stored(name)
    const left = collections.map((one) => one.name).filter((one) => one.startsWith(prefixOf(name)))
    for (const stored of left) if (!registered.includes(stored)) await dispose(stored)
  }
  const dispose = async (stored: string): Promise<void> => {
    await recordsIn(stored).drop()
    await checkpoints.deleteOne({ _id: stored })
  }

  const drop: Documents['drop'] = (collection) =>
    tried(async () => {
      const stored = await generations.remove(collection)
      forget(collection)
      if (stored !== undefined) await dispose(stored)
    })

  return { prepare, exists, get, find, count, all, apply, checkpoint, promote, drop }
}

const nameOf = ({ name, version, generation }: Collection): string => `${prefixOf(name)}${version}/${generation}`

/** Where another process made a document at the same time it is there now, and the next try finds it. */
const send = async (records: Records, writes: ReadonlyArray<Write>, tries = writes.length): Promise<void> => {
  try {
    await records.bulkWrite(writes, { ordered: false })
  } catch (error) {
    if (tries === 0 || !isDuplicate(error)) throw error
    await send(records, writes, tries - 1)
  }
}

/** Removed documents stay, for their positions. */
const present = { 'change.body': { $exists: true } }

const recordsOf = async (records: Records, keys: ReadonlyArray<string>): Promise<ReadonlyArray<DocumentRecord>> => {
  const projection = readFields
  if (keys.length > fewKeys)
    return records.find({ _id: { $in: keys } }, { projection, batchSize: keys.length }).toArray()
  const found = await Promise.all(keys.map((_id) => records.findOne({ _id }, { projection })))
  return found.filter((record) => record !== null)
}
