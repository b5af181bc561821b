import Database from 'better-sqlite3'
import { join } from 'node:path'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import type { EventStore } from '../../../domain/ports.js'
import type { Documents } from '../../../projections/ports.js'
import { openDatabase, type SqliteDatabase } from '../../../adapters/sqlite/database.js'
import { rightOf } from '../right-of.js'
import { openTemporaryDirectory } from '../temporary-directory.js'

/** The embedded database in `directory`. */
export const openIn = async (directory: string): Promise<SqliteDatabase> => rightOf(await openDatabase(directory))

type OpenPort<Port> = {
  readonly port: Port
  /** Closes the database and opens it again on the same directory. */
  readonly reopen: () => Promise<Port>
  readonly close: () => Promise<void>
}

/** A log and documents on an embedded database in a directory of its own, which `close` removes. */
export const openSqliteStores = async (): Promise<{
  readonly store: EventStore
  readonly documents: Documents
  readonly close: () => Promise<void>
}> => {
  const { port, close } = await openSqlite((database) => ({
    store: sqliteEventStore(database),
    documents: sqliteDocuments(database),
  }))
  return { ...port, close }
}

/** A port on an embedded database in a directory of its own, which `close` removes. */
export const openSqlite = async <Port>(adapter: (database: SqliteDatabase) => Port): Promise<OpenPort<Port>> => {
  const directory = openTemporaryDirectory()
  let database = await openIn(directory.path)
  return {
    port: adapter(database),
    reopen: async () => {
      await database.close()
      database = await openIn(directory.path)
      return adapter(database)
    },
    close: async () => {
      await database.close()
      await directory.remove()
    },
  }
}

/** What `use` gives of the file of the embedded database, as somebody with a SQLite tool would open it. */
export const byHand = <A>(directory: string, use: (database: Database.Database) => A): A => {
  const database = new Database(join(directory, 'leadloop.db'))
  try {
    return use(database)
  } finally {
    database.close()
  }
}
