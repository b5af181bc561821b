import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'

export type DuckDb = { readonly connection: DuckDBConnection; readonly close: () => void }

/** What does not fit lies on the disk beside the file. */
const memoryLimit = '80MB'

/**
 * The database in a file, made where there is none, or one in `:memory:`. It works on one thread with little memory, so
 * that a service beside it is not slowed. Times are read and written in UTC.
 * @throws Error where the file can't be opened, or another process has it open
 */
export const openDuckDb = async (file: string): Promise<DuckDb> => {
  const instance = await DuckDBInstance.create(file, {
    // What it needs comes inside the package: it must not look for more on the network.
    autoinstall_known_extensions: 'false',
    memory_limit: memoryLimit,
    threads: '1',
  })
  const connection = await instance.connect()
  await connection.run("SET TimeZone = 'UTC'")
  return {
    connection,
    close: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
