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

/** A port on an embedded database in a directory of its own, which `close` removes. */
export const openSqlite = async <Port>(adapter: (database: SqliteDatabase) => Port): Promise<OpenPort<Port>> => {
  const directory = await openTemporaryDirectory()
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
