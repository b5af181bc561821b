import { sharedCalls } from '../../in-process/shared-calls.js'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import type { SqliteDatabase } from '../database.js'
import { creation, indexing, promotion, removal, retirement } from './sql.js'
import { generationName, registeredTable, type DocumentTables } from './tables.js'

/** How generations of collections come and go: each has a table of its own. */
export const documentGenerations = (
  database: SqliteDatabase,
  tables: DocumentTables,
): Pick<Documents, 'prepare' | 'exists' | 'promote' | 'drop'> => {
  const preparing = sharedCalls<Either<StoreFailure, void>>()
  const { changeSchema, changeInSteps, sweep } = schemaChanges(database)

  const create = async (collection: Collection): Promise<Either<StoreFailure, void>> => {
    const found = database.read((prepare) => ({
      table: tables.find(prepare, collection),
      serial: prepare<{ serial: number }>('SELECT max(rowid) + 1 AS serial FROM collections').get()?.serial ?? 1,
    }))
    if (E.isLeft(found)) return found
    if (found.right.table !== undefined) return E.right(undefined)
    const table = `${collection.name}@${collection.version}#${found.right.serial}`
    return changeSchema(creation(collection, table))
  }

  return {
    prepare: (collection) => preparing(generationName(collection), () => create(collection)),

    exists: (collection) =>
      Promise.resolve(database.read((prepare) => registeredTable(prepare, collection) !== undefined)),

    promote: async (collection) => {
      const next = { ...collection, generation: 'next' } as const
      const found = database.read((prepare) => ({
        fresh: registeredTable(prepare, next)?.table,
        others: prepare<{ readonly table: string }>(
          'SELECT table_name AS "table" FROM collections WHERE name = ? AND NOT (version = ? AND generation = ?)',
        ).all(next.name, next.version, next.generation),
      }))
      if (E.isLeft(found)) return found
      const { fresh, others } = found.right
      if (fresh === undefined) return E.left({ kind: 'corrupt', reason: `${collection.name} has no next generation` })
      const indexed = await changeInSteps(indexing(collection, fresh))
      if (E.isLeft(indexed)) return indexed
      const promoted = await changeSchema(
        promotion(
          collection,
          fresh,
          others.map(({ table }) => table),
        ),
      )
      tables.forgetAll()
      // The promotion has succeeded, whatever the sweep meets: what it leaves goes with the next one, or the next
      // start.
      if (E.isRight(promoted)) await sweep(collection.name)
      return promoted
    },

    drop: async (collection) => {
      const found = database.read((prepare) => ({
        table: registeredTable(prepare, collection)?.table,
        view: prepare<{ readonly sql: string }>(`SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?`).get(
          collection.name,
        ),
      }))
      if (E.isLeft(found)) return found
      tables.forget(collection)
      const { table, view } = found.right
      if (table !== undefined) {
        const hidden = view?.sql.includes(`"${table}"`) === true ? [`DROP VIEW "${collection.name}"`] : []
        const retired = await changeSchema([...hidden, retirement(table)])
        if (E.isLeft(retired)) return retired
      }
      return sweep(collection.name)
    },
  }
}

/** What makes and removes tables and indexes: while the writing thread does one of these jobs all other writes wait. */
const schemaChanges = (database: SqliteDatabase) => {
  const changeSchema = async (statements: ReadonlyArray<string>): Promise<Either<StoreFailure, void>> =>
    E.asUnit(await database.write({ kind: 'schema', statements }))

  /** Each of them in a job of its own, so that the writes of others come in between. */
  const changeInSteps = async (statements: ReadonlyArray<string>): Promise<Either<StoreFailure, void>> => {
    for (const statement of statements) {
      const changed = await changeSchema([statement])
      if (E.isLeft(changed)) return changed
    }
    return E.right(undefined)
  }

  /** Removes what was retired of a name, now or before the process ended. */
  const sweep = async (name: string): Promise<Either<StoreFailure, void>> => {
    const found = database.read((prepare) =>
      prepare<string>(`SELECT table_name FROM collections WHERE name = ? AND generation = 'retired/' || table_name`)
        .pluck()
        .all(name)
        .flatMap((table) => {
          const named = `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`
          const indexes = prepare<string>(named).pluck().all(table)
          const lastRow = prepare<number | null>(`SELECT max(rowid) FROM "${table}"`).pluck().get() ?? 0
          return removal(table, indexes, lastRow)
        }),
    )
    return E.isLeft(found) ? found : changeInSteps(found.right)
  }

  return { changeSchema, changeInSteps, sweep }
}
