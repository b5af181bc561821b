import type { DuckDBConnection } from '@duckdb/node-api'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Position } from '../../../domain/event.js'
import type { Instant } from '../../../domain/instant.js'
import type { LogReader } from '../../../domain/ports.js'
import { tableNames, type TableName } from '../../analysis/tables/tidy-tables.js'

type Request = {
  /** What was recorded up to and at this time; all where it is left out. */
  readonly asOf?: Instant | undefined
  readonly isPersonalShown: boolean
  /** All where it is left out. */
  readonly tables?: ReadonlyArray<TableName>
}

/** `close` removes the file that it works on. */
type LoadedTables = { readonly connection: DuckDBConnection; readonly close: () => Promise<void> }

/**
 * A DuckDB that holds the tables of the dictionary in `app/analysis/README.md`, each in its order, made from one pass
 * over the categories that they need. It lies in the folder for temporary files.
 * @throws StoreFailed, where an event can't be decoded as UndecodableEvent; the reason of `signal` where that aborts
 */
export const loadTables = async (
  log: LogReader,
  { asOf, isPersonalShown, tables = tableNames }: Request,
  signal: AbortSignal,
  onPosition: (position: Position) => void = () => undefined,
): Promise<LoadedTables> => {
  // DuckDB is large, and only the commands that compute with it load it.
  const { openDuckDb } = await import('../../../adapters/duckdb/database.js')
  const { makeTable } = await import('./make-table.js')
  const { beginStaging, identityOf, stage } = await import('./staging.js')
  const folder = await mkdtemp(join(tmpdir(), 'leadloop-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true })
  const { connection, close } = await openDuckDb(join(folder, 'tables.duckdb')).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  const closeAndRemove = (): Promise<void> => {
    close()
    return remove()
  }
  try {
    // The file goes with the process, so there is no use in a whole one at its end.
    await connection.run('PRAGMA disable_checkpoint_on_shutdown')
    const begun = await beginStaging(connection, { tables, isPersonalShown, log: await identityOf(log, signal) })
    await stage(log, connection, begun, signal, onPosition)
    for (const name of tables) {
      await makeTable(connection, name, { asOf, isPersonalShown }, async (query) => {
        await connection.run(`CREATE TABLE ${name} AS ${query}`)
      })
    }
    await connection.run('DROP SCHEMA staged CASCADE')
    return { connection, close: closeAndRemove }
  } catch (error) {
    await closeAndRemove()
    throw error
  }
}
