import type { DuckDBConnection } from '@duckdb/node-api'
import { rowAppender, type RowAppender } from '../../../adapters/duckdb/row-appender.js'
import { beginning, positionOf, type Position } from '../../../domain/event.js'
import { categories, type RecordedEvent } from '../../../domain/events.js'
import type { EventBatch, LogReader } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import { categoryOf } from '../../../domain/stream-name.js'
import {
  categoryOfStage,
  erasures,
  stageColumns,
  stagedRows,
  stageNames,
  type StageName,
} from '../../analysis/tables/staged-rows.js'
import { stagesOf, type TableName } from '../../analysis/tables/tidy-tables.js'

/** What the staged rows are good for. */
export type Staging = {
  readonly tables: ReadonlyArray<TableName>
  readonly isPersonalShown: boolean
  /** The id of the first event of an account, which no other log has; empty where there is no account. */
  readonly log: string
}

/** The columns of all stages: what another version staged may have others. */
const columns = JSON.stringify(stageNames.map((name) => [name, stageColumns(name)]))

/** Events whose rows are committed at once. */
const committedAtOnce = 5_000

/**
 * The tables for rows that follow from one event each, in the schema `staged`; they stay empty where no table needs
 * them.
 */
export const beginStaging = async (connection: DuckDBConnection, staging: Staging): Promise<Progress> => {
  const { tables, isPersonalShown, log } = staging
  await connection.run('BEGIN')
  await connection.run('CREATE SCHEMA staged')
  for (const name of stageNames) {
    const typed = stageColumns(name).map(([column, type]) => `"${column}" ${type}`)
    await connection.run(`CREATE TABLE staged.${name} (${typed.join(', ')})`)
  }
  await connection.run(
    `CREATE TABLE staged.progress AS SELECT ${beginning}::BIGINT AS position, $tables AS tables, $personal AS personal, $log AS log, $columns AS columns, NULL::BIGINT AS last_after, NULL::BIGINT AS last_position, NULL::VARCHAR AS last_id`,
    { tables: tables.join(','), personal: isPersonalShown, log, columns },
  )
  await connection.run('COMMIT')
  return { ...staging, position: beginning, last: undefined, isOfThisVersion: true }
}

export type Progress = Staging & {
  readonly position: Position
  /** The last event that was staged; undefined where there was none. */
  readonly last: Staged | undefined
  readonly isOfThisVersion: boolean
}

/** An event, and the position of the one that was staged before it. */
type Staged = { readonly after: Position; readonly position: Position; readonly id: string }

type StoredProgress = {
  readonly tables: string
  readonly personal: boolean
  readonly log: string
  readonly position: string
  /** Older versions did not tell. */
  readonly columns?: string
  readonly last_after?: string | null
  readonly last_position?: string | null
  readonly last_id?: string | null
}

/** How far the log is staged, and for what; undefined where nothing is. */
export const stagedSoFar = async (connection: DuckDBConnection): Promise<Progress | undefined> => {
  const begun = await connection.runAndReadAll("FROM duckdb_tables() WHERE schema_name = 'staged'")
  if (begun.currentRowCount === 0) return undefined
  const [row] = (await connection.runAndReadAll('FROM staged.progress')).getRowObjectsJson()
  const { tables, personal, log, position, columns: stored, ...last } = row as unknown as StoredProgress
  return {
    tables: tables.split(',') as ReadonlyArray<TableName>,
    isPersonalShown: personal,
    log,
    position: positionOf(BigInt(position)),
    last: lastIn(last),
    isOfThisVersion: stored === columns,
  }
}

const lastIn = ({
  last_after: after,
  last_position: position,
  last_id: id,
}: Pick<StoredProgress, 'last_after' | 'last_position' | 'last_id'>): Staged | undefined =>
  typeof after === 'string' && typeof position === 'string' && typeof id === 'string'
    ? { after: positionOf(BigInt(after)), position: positionOf(BigInt(position)), id }
    : undefined

/**
 * Whether the log still holds what was staged: one that was set back to an older copy ends before it, or goes on with
 * other events. What an erasure took away is no difference.
 * @throws StoreFailed; the reason of `signal` where that aborts
 */
export const isStillIn = async (
  log: LogReader,
  { position, last }: Progress,
  signal: AbortSignal,
): Promise<boolean> => {
  if (orThrow(await log.head()) < position) return false
  if (last === undefined) return true
  for await (const { events } of log.history(last.after, categories, signal)) {
    const found = events.find((event) => event.position >= last.position)
    if (found !== undefined) return found.position > last.position || found.id === last.id
  }
  return true
}

export const identityOf = async (log: LogReader, signal: AbortSignal): Promise<string> => {
  for await (const { events } of log.history(beginning, ['account'], signal)) {
    const [first] = events
    if (first !== undefined) return first.id
  }
  return ''
}

/**
 * Stages what the log holds after the position of the last staging, up to its end as it is once that is read. The
 * position is committed together with the rows, so whatever breaks it off, the next staging goes on where this one
 * ended.
 * @throws StoreFailed; the reason of `signal` where that aborts
 */
export const stage = async (
  log: LogReader,
  connection: DuckDBConnection,
  from: Progress,
  signal: AbortSignal,
  onPosition: (position: Position) => void,
): Promise<void> => {
  const names = stagesOf(from.tables)
  const read = [...new Set(names.map(categoryOfStage))]
  const stages = await Promise.all(
    names.map(async (name) => ({ name, rows: await rowAppender(connection, 'staged', name) })),
  )
  let newest = from.last
  const commit = async (position: Position): Promise<void> => {
    for (const { rows } of stages) rows.flush()
    await connection.run(`UPDATE staged.progress SET position = ${position}`)
    if (newest !== undefined) {
      const { after, id } = newest
      const set = `last_after = ${after}, last_position = ${newest.position}, last_id = $id`
      await connection.run(`UPDATE staged.progress SET ${set}`, { id })
    }
    await connection.run('COMMIT')
  }
  let last = from.position
  let uncommitted = 0
  await connection.run('BEGIN')
  let batches: number
  do {
    batches = 0
    for await (const { events, position } of log.history(last, read, signal)) {
      batches += 1
      for (const event of events) append(stages, event, from)
      newest = newestOf(events, newest)
      last = position
      uncommitted += events.length
      if (uncommitted >= committedAtOnce) {
        await commit(last)
        await connection.run('BEGIN')
        uncommitted = 0
      }
      onPosition(position)
    }
    // What an erasure took away before it was read stands in what closed its stream, and that came after the end as it
    // was.
  } while (batches > 1)
  for (const { rows } of stages) rows.flush()
  for (const { rows, erasure, of } of erasures) {
    await connection.run(
      `DELETE FROM staged.${rows} AS erased USING staged.${erasure} AS closing
       WHERE erased.${of} = closing.${of} AND erased.revision <= closing.revision`,
    )
  }
  await commit(last)
  for (const { rows } of stages) rows.close()
}

const newestOf = (events: EventBatch['events'], before: Staged | undefined): Staged | undefined => {
  const [previous, last] = [events.at(-2), events.at(-1)]
  if (last === undefined) return before
  return { after: previous?.position ?? before?.position ?? beginning, position: last.position, id: last.id }
}

const append = (
  stages: ReadonlyArray<{ readonly name: StageName; readonly rows: RowAppender }>,
  event: RecordedEvent,
  shown: { readonly isPersonalShown: boolean },
): void => {
  const category = categoryOf(event.stream)
  for (const { name, rows } of stages) {
    if (categoryOfStage(name) !== category) continue
    for (const row of stagedRows(name, event, shown)) rows.append(row)
  }
}
