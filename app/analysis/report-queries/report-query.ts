import type { AttributionRequest } from '../attribution/attribution-query.js'
import { packageFile } from '../package-file.js'
import { setVariables, sqlText, sqlTime } from '../sql-variables.js'

/** Leads of that time, sales of that time, and deliveries that were due in it. */
export type ReportRequest = Pick<AttributionRequest, 'accountId' | 'from' | 'to'>

/**
 * The SQL of one part of a report: what was asked for in variables, and then a query that is the same whatever was
 * asked.
 */
export const reportQuery = (name: 'leads' | 'labels' | 'webhooks', { accountId, from, to }: ReportRequest): string => {
  const asked = setVariables({ account: sqlText(accountId), from_at: sqlTime(from), to_at: sqlTime(to) })
  return `${asked}\n${packageFile(`app/analysis/report-queries/${name}.sql`)}`
}

export const titlesQuery = 'SELECT source_id, title FROM sources ORDER BY source_id;'
