import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Collection, Documents, Stored } from '../../../projections/ports.js'
import { othersHadTheirTurn } from './read-turns.js'
import { decodeStored, type StoredRow } from './sql.js'
import { generationName, type DocumentTables } from './tables.js'

type Read = Either<StoreFailure, ReadonlyMap<string, Stored>>

/** What is asked for in one turn of the event loop, and its end, when all of it is read. */
type Asked = { readonly keys: Set<string>; readonly read: Promise<Read> }

/** Documents by their keys: requests of one turn are answered by one read, a sixth less work for each of them. */
export const keyedReads = (tables: DocumentTables): Pick<Documents, 'get' | 'getToFold'> => {
  const askedOf = new Map<string, Asked>()

  const begunAsking = (collection: Collection): Asked => {
    const name = generationName(collection)
    const keys = new Set<string>()
    const read = othersHadTheirTurn().then(() => {
      askedOf.delete(name)
      return readAll(tables, collection, [...keys])
    })
    const asked = { keys, read }
    askedOf.set(name, asked)
    return asked
  }

  return {
    get: async (collection, keys) => {
      const asked = askedOf.get(generationName(collection)) ?? begunAsking(collection)
      for (const key of keys) asked.keys.add(key)
      const read = await asked.read
      // What others asked for may be what can't be read.
      return E.isLeft(read) ? readAll(tables, collection, keys) : E.right(partOf(read.right, keys))
    },
    // A read model has its keys together already, and nothing to wait for.
    getToFold: (collection, keys) => Promise.resolve(readAll(tables, collection, keys)),
  }
}

const readAll = (tables: DocumentTables, collection: Collection, keys: ReadonlyArray<string>): Read =>
  tables.read<ReadonlyMap<string, Stored>>(collection, new Map(), (prepare, table) => {
    // Each statement finds out anew what the writing connection has changed, so one reads them all.
    const sql = `SELECT found.key, position, body FROM json_each(?) CROSS JOIN "${table}" found ON found.key = value`
    const rows = prepare<StoredRow>(sql).raw().all(JSON.stringify(keys))
    return new Map(rows.map((row) => [row[0], decodeStored(row)]))
  })

const partOf = (all: ReadonlyMap<string, Stored>, keys: ReadonlyArray<string>): ReadonlyMap<string, Stored> => {
  const part = new Map<string, Stored>()
  for (const key of keys) {
    const stored = all.get(key)
    if (stored !== undefined) part.set(key, stored)
  }
  return part
}
