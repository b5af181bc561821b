import type { DuckDBConnection } from '@duckdb/node-api'
import { readFile } from 'node:fs/promises'
import type { Position } from '../../../domain/event.js'
import type { Instant } from '../../../domain/instant.js'
import type { LogReader } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import {
  attributionText,
  type AttributionFormat,
  type AttributionRow,
} from '../../analysis/attribution/attribution-output.js'
import { attributionQuery, type AttributionRequest } from '../../analysis/attribution/attribution-query.js'
import { costsFrom, type CostLine } from '../../analysis/attribution/costs.js'
import type { Config } from '../../composition/config.js'
import { loadTables } from '../analysis/load-tables.js'
import { readingLog } from '../analysis/log.js'
import { sayBesideBar } from '../progress.js'
import { toldReason } from '../run.js'

type Asked = {
  readonly request: AttributionRequest
  readonly costsFile: string | undefined
  readonly asOf: Instant | undefined
  readonly format: AttributionFormat
  /** The SQL is printed, and no log is read. */
  readonly isExplained: boolean
}

/** Writes the figures of an attribution. Left: one sentence that says why there are none. */
export const attribute = async (config: Config, asked: Asked): Promise<Either<string, undefined>> => {
  const { costsFile, asOf, format, isExplained } = asked
  const costs = costsFile === undefined ? E.right([]) : await costsIn(costsFile)
  if (E.isLeft(costs)) return costs
  const request = { ...asked.request, costs: costs.right }
  if (isExplained) {
    process.stdout.write(attributionQuery(request))
    return E.right(undefined)
  }
  return readingLog(
    config,
    async (log, { signal, onPosition }) => {
      const rows = await attributionOf(log, request, asOf, signal, onPosition)
      process.stdout.write(attributionText(rows, format, request.by))
      return E.right(undefined)
    },
    { isBackground: true },
  )
}

const costsIn = async (file: string): Promise<Either<string, ReadonlyArray<CostLine>>> => {
  try {
    const costs = costsFrom(await readFile(file, 'utf8'))
    return E.isLeft(costs) ? E.left(`--costs: ${file}, ${costs.left}.`) : costs
  } catch (error) {
    return E.left(`--costs: ${toldReason(error)}.`)
  }
}

/**
 * The figures as of what was recorded up to and at `asOf`, or of everything.
 * @throws StoreFailed, where an event can't be decoded as UndecodableEvent; the reason of `signal` where that aborts
 */
export const attributionOf = async (
  log: LogReader,
  request: AttributionRequest,
  asOf: Instant | undefined,
  signal: AbortSignal,
  onPosition?: (position: Position) => void,
): Promise<ReadonlyArray<AttributionRow>> => {
  const tables = ['leads', 'engagements', 'activities', 'messages', 'conversions', 'touches', 'sources'] as const
  const { connection, close } = await loadTables(log, { asOf, isPersonalShown: false, tables }, signal, onPosition)
  try {
    await tellUnknownSources(connection, request.costs ?? [], asOf)
    return await figuresOf(connection, attributionQuery(request))
  } finally {
    await close()
  }
}

/** The costs of an id that was mistyped stand in no row. */
const tellUnknownSources = async (
  connection: DuckDBConnection,
  costs: ReadonlyArray<CostLine>,
  asOf: Instant | undefined,
): Promise<void> => {
  const known = new Set((await connection.runAndReadAll('SELECT source_id FROM sources')).getRows().flat())
  const unknown = new Set(costs.map(({ sourceId }) => sourceId).filter((id) => !known.has(id)))
  const log = asOf === undefined ? 'the log' : 'the log of that moment'
  if (unknown.size > 0) sayBesideBar(`--costs: ${log} has no ${[...unknown].join(', ')}.`)
}

/** The rows of the query, over a DuckDB that holds the tables. Decimals are texts, to stay exact. */
export const figuresOf = async (connection: DuckDBConnection, sql: string): Promise<ReadonlyArray<AttributionRow>> => {
  const rows = (await connection.runAndReadAll(sql)).getRowObjects()
  return rows.map((row) => ({ ...row, credit: String(row['credit']) }) as unknown as AttributionRow)
}
