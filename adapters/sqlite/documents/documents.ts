import { positionOf } from '../../../domain/event.js'
import { E } from '../../../domain/prelude.js'
import { misplacedIn, type Documents } from '../../../projections/ports.js'
import type { SqliteDatabase } from '../database.js'
import { documentGenerations } from './generations.js'
import { documentReads } from './reads.js'
import { columnsOf, encodeChange } from './sql.js'
import { documentTables, registeredTable } from './tables.js'

/** The `Documents` port on the embedded database. */
export const sqliteDocuments = (database: SqliteDatabase): Documents => {
  const tables = documentTables(database)
  const checkpoint: Documents['checkpoint'] = (collection) =>
    Promise.resolve(
      database.read((prepare) => positionOf(BigInt(registeredTable(prepare, collection)?.checkpoint ?? 0))),
    )
  const reads = documentReads(tables)
  return {
    ...documentGenerations(database, tables),
    ...reads,

    apply: async (collection, changes, checkpoint) => {
      const misplaced = misplacedIn(changes, checkpoint)
      if (misplaced !== undefined) return E.left(misplaced)
      const table = database.read((prepare) => tables.find(prepare, collection))
      if (E.isLeft(table)) return table
      if (table.right === undefined) return E.left({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
      const columns = columnsOf(collection)
      const rows = changes.map((change) => encodeChange(change, columns))
      return E.asUnit(
        await database.write({ kind: 'apply', table: table.right, columns, rows, checkpoint: Number(checkpoint) }),
      )
    },

    purge: async () => {
      const left = database.read((prepare) =>
        prepare<number>(`SELECT count(*) FROM collections WHERE generation LIKE 'retired/%'`).pluck().get(),
      )
      if (E.isLeft(left)) return left
      // A table that was replaced, and is not removed yet, may hold what was erased.
      return left.right === 0 ? database.purge() : E.right(false)
    },
    confirmedCheckpoint: checkpoint,
    checkpoint,
  }
}
