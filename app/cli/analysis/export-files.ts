import type { DuckDBConnection } from '@duckdb/node-api'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openDuckDb, type DuckDb } from '../../../adapters/duckdb/database.js'
import { textLiteral } from '../../../adapters/duckdb/text-literal.js'
import { wholeFile } from '../../../adapters/node/whole-file.js'
import type { Position } from '../../../domain/event.js'
import type { LogReader } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { toldReason } from '../run.js'
import type { ExportRequest } from './export-request.js'
import { makeTable } from './make-table.js'
import { beginStaging, identityOf, isStillIn, stage, stagedSoFar, type Progress, type Staging } from './staging.js'

/** What the tables are made of, and how far the log was read: the next export may go on there. */
const stagingFile = 'leadloop-staging.duckdb'

/**
 * Writes the tables into the folder; a file that stands there is replaced by a whole one. Left: one sentence that says
 * why the folder can't be used, or the last export not be continued.
 * @throws StoreFailed, where an event can't be decoded as UndecodableEvent; the reason of `signal` where that aborts
 */
export const exportTables = async (
  log: LogReader,
  request: ExportRequest,
  signal: AbortSignal,
  onPosition: (position: Position) => void = () => undefined,
): Promise<Either<string, undefined>> => {
  const { tables, isPersonalShown } = request
  const wanted = { tables, isPersonalShown, log: await identityOf(log, signal) }
  const opened = await openStaging(request)
  if (E.isLeft(opened)) return opened
  const { connection, close } = opened.right
  try {
    const staged = await stagedSoFar(connection)
    const difference = staged && (await differenceOf(log, staged, wanted, signal))
    if (difference !== undefined) {
      return E.left(`--continue: the last export into this folder ${difference}. Without --continue it begins anew.`)
    }
    await stage(log, connection, staged ?? (await beginStaging(connection, wanted)), signal, onPosition)
    await write(connection, request, signal)
    return E.right(undefined)
  } finally {
    close()
  }
}

const openStaging = async ({
  folder,
  isPersonalShown,
  isContinued,
}: ExportRequest): Promise<Either<string, DuckDb>> => {
  const file = join(folder, stagingFile)
  try {
    await mkdir(folder, { recursive: true, ...(isPersonalShown && { mode: 0o700 }) })
    // Opened before anything is removed: DuckDB lets one process at a time have the file.
    const opened = await openDuckDb(file)
    if (!isContinued) await opened.connection.run('DROP SCHEMA IF EXISTS staged CASCADE')
    return E.right(opened)
  } catch (error) {
    const reason = toldReason(error)
    return E.left(
      reason.includes('lock on file') ? '--out: another export writes into this folder.' : `--out: ${reason}.`,
    )
  }
}

const differenceOf = async (
  log: LogReader,
  staged: Progress,
  wanted: Staging,
  signal: AbortSignal,
): Promise<string | undefined> => {
  if (!staged.isOfThisVersion) return 'was made by another version'
  if (staged.log !== wanted.log) return 'was of another log'
  if (!(await isStillIn(log, staged, signal))) return 'was of this log before it was set back to an older copy'
  if (staged.isPersonalShown !== wanted.isPersonalShown)
    return `was made ${staged.isPersonalShown ? 'with' : 'without'} --personal`
  const isSame = [...staged.tables].sort().join() === [...wanted.tables].sort().join()
  return isSame ? undefined : `was of --tables ${staged.tables.join(',')}`
}

const write = async (connection: DuckDBConnection, request: ExportRequest, signal: AbortSignal): Promise<void> => {
  const { folder, format, tables } = request
  if (format === 'duckdb') {
    signal.throwIfAborted()
    await wholeFile(join(folder, 'leadloop.duckdb'), async (part) => {
      await connection.run(`ATTACH ${textLiteral(part)} AS made`)
      for (const table of tables) {
        await makeTable(connection, table, request, async (query) => {
          await connection.run(`CREATE TABLE made.${table} AS ${query}`)
        })
      }
      await connection.run('DETACH made')
    })
    return
  }
  for (const table of tables) {
    signal.throwIfAborted()
    await wholeFile(join(folder, `${table}.${format}`), async (part) => {
      await makeTable(connection, table, request, async (query) => {
        await connection.run(`COPY (${query}) TO ${textLiteral(part)} (${optionsOf[format]})`)
      })
    })
  }
}

/**
 * Times in CSV are written as the service writes them everywhere. A group of rows of Parquet is held in memory until it
 * is full.
 */
const optionsOf = {
  csv: "FORMAT csv, HEADER, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%gZ'",
  parquet: 'FORMAT parquet, ROW_GROUP_SIZE 20480',
} as const
