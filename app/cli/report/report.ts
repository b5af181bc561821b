import type { DuckDBConnection } from '@duckdb/node-api'
import { writeFile } from 'node:fs/promises'
import { replacedFile, wholeFile } from '../../../adapters/node/whole-file.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { Instant } from '../../../domain/instant.js'
import type { LogReader } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { AttributionRow } from '../../analysis/attribution/attribution-output.js'
import {
  attributionModels,
  attributionQuery,
  type AttributionModel,
  type AttributionRequest,
} from '../../analysis/attribution/attribution-query.js'
import type { LabelRow, LeadsRow, ReportFigures, WebhookRow } from '../../analysis/report/report-figures.js'
import { reportPage, type ReportHeading } from '../../analysis/report/report-page.js'
import { reportQuery, titlesQuery, type ReportRequest } from '../../analysis/report-queries/report-query.js'
import type { Config } from '../../composition/config.js'
import { loadTables } from '../analysis/load-tables.js'
import { readingLog } from '../analysis/log.js'
import { figuresOf } from '../attribution/attribution.js'
import { atOut } from '../run.js'

/** `madeAt`: for the heading alone, since what was recorded may be of a clock that is ahead of this one. */
type Asked = ReportRequest & { readonly madeAt: Instant }

/** Writes a report into a file, which appears when it is whole. Left: one sentence that says why there is none. */
export const reportTo = (config: Config, file: string, asked: Asked): Promise<Either<string, undefined>> =>
  readingLog(
    config,
    async (log, { signal, onPosition }) => {
      // Before the log is read: to compute it takes a while.
      const place = await atOut(() => replacedFile(file))
      if (E.isLeft(place)) return place
      const page = await reportOf(log, asked, signal, onPosition)
      if (E.isLeft(page)) return page
      return atOut(() => wholeFile(file, (part) => writeFile(part, page.right)).then(() => undefined))
    },
    { isBackground: true },
  )

/**
 * The report as HTML: the same bytes for the same history and the same request. Left: one sentence.
 * @throws StoreFailed, where an event can't be decoded as UndecodableEvent; the reason of `signal` where that aborts
 */
export const reportOf = async (
  log: LogReader,
  asked: Asked,
  signal: AbortSignal,
  onPosition?: (position: Position) => void,
): Promise<Either<string, string>> => {
  const { accountId } = asked
  const accounts = await accountsOf(log, asked, signal)
  if (accountId !== undefined && accounts.length === 0) return E.left(`--account: the log has no ${accountId}.`)
  const { connection, close } = await loadTables(log, { isPersonalShown: false }, signal, onPosition)
  try {
    return E.right(await reportPage(await figuresIn(connection, asked), { ...asked, accounts }))
  } finally {
    await close()
  }
}

const accountsOf = async (
  log: LogReader,
  { accountId }: Asked,
  signal: AbortSignal,
): Promise<ReportHeading['accounts']> => {
  const accounts: Array<ReportHeading['accounts'][number]> = []
  for await (const { events } of log.history(beginning, ['account'], signal)) {
    for (const { type, data } of events) {
      if (type !== 'AccountOpened') continue
      const { account_id: id, title } = data
      if (accountId === undefined || accountId === id) accounts.push({ id, title })
    }
  }
  return accounts
}

/** The options of `leadloop attribution` unless they are given. */
const usual = { labels: ['sold'], halfLife: 7, window: 90 } as const

const figuresIn = async (connection: DuckDBConnection, asked: Asked): Promise<ReportFigures> => {
  const rowsOf = async <Row>(sql: string): Promise<ReadonlyArray<Row>> =>
    (await connection.runAndReadAll(sql)).getRowObjects() as unknown as ReadonlyArray<Row>
  const sales = (model: AttributionModel, by: AttributionRequest['by']): Promise<ReadonlyArray<AttributionRow>> =>
    figuresOf(connection, attributionQuery({ ...asked, ...usual, model, by }))
  const models: Array<[AttributionModel, ReadonlyArray<AttributionRow>]> = []
  for (const model of attributionModels) models.push([model, await sales(model, 'source')])
  const titles = await rowsOf<{ readonly source_id: string; readonly title: string }>(titlesQuery)
  return {
    titles: new Map(titles.map(({ source_id, title }) => [source_id, title])),
    leads: await rowsOf<LeadsRow>(reportQuery('leads', asked)),
    labels: await rowsOf<LabelRow>(reportQuery('labels', asked)),
    models: Object.fromEntries(models) as ReportFigures['models'],
    weeks: await sales('last-touch', 'week'),
    firstContact: await sales('last-touch', 'first-contact'),
    webhooks: await rowsOf<WebhookRow>(reportQuery('webhooks', asked)),
  }
}
