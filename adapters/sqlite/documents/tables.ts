import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Collection } from '../../../projections/ports.js'
import type { Prepare, SqliteDatabase } from '../database.js'

type RegisteredTable = { readonly table: string; readonly checkpoint: number }

/** Which table holds which generation of a collection. */
export type DocumentTables = {
  /** Reads from the table of a generation; `none` where there is no such generation. */
  readonly read: <A>(
    collection: Collection,
    none: A,
    query: (prepare: Prepare, table: string) => A,
  ) => Either<StoreFailure, A>
  /** Undefined when there is no such generation. */
  readonly find: (prepare: Prepare, collection: Collection) => string | undefined
  readonly forget: (collection: Collection) => void
  readonly forgetAll: () => void
}

export const documentTables = (database: Pick<SqliteDatabase, 'read'>): DocumentTables => {
  const cache = new Map<string, string>()

  const find: DocumentTables['find'] = (prepare, collection) => {
    const cached = cache.get(generationName(collection))
    if (cached !== undefined) return cached
    const table = registeredTable(prepare, collection)?.table
    if (table !== undefined) cache.set(generationName(collection), table)
    return table
  }
  return {
    find,
    read: <A>(collection: Collection, none: A, query: (prepare: Prepare, table: string) => A) => {
      const attempt = (): Either<StoreFailure, A> =>
        database.read((prepare) => {
          const table = find(prepare, collection)
          return table === undefined ? none : query(prepare, table)
        })
      const first = attempt()
      // The table may have been replaced since its name was cached.
      return E.isLeft(first) && cache.delete(generationName(collection)) ? attempt() : first
    },
    forget: (collection) => void cache.delete(generationName(collection)),
    forgetAll: () => cache.clear(),
  }
}

export const generationName = ({ name, version, generation }: Collection): string => `${name}@${version}/${generation}`

export const registeredTable = (
  prepare: Prepare,
  { name, version, generation }: Collection,
): RegisteredTable | undefined =>
  prepare<RegisteredTable>(
    'SELECT table_name AS "table", checkpoint FROM collections WHERE name = ? AND version = ? AND generation = ?',
  ).get(name, version, generation)
