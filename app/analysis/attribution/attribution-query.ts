import type { Instant } from '../../../domain/instant.js'
import { packageFile } from '../package-file.js'
import { setVariables, sqlList, sqlText, sqlTime } from '../sql-variables.js'
import type { CostLine } from './costs.js'

export const attributionModels = ['last-touch', 'first-touch', 'linear', 'time-decay', 'position-based'] as const
export type AttributionModel = (typeof attributionModels)[number]

export const attributionGroupings = [
  'source',
  'playbook',
  'playbook-version',
  'week',
  'state',
  'first-contact',
] as const
export type AttributionGrouping = (typeof attributionGroupings)[number]

export type AttributionRequest = {
  readonly model: AttributionModel
  /** Of time decay, in days. */
  readonly halfLife: number
  /** How long before a conversion a lead still counts, in days. */
  readonly window: number
  readonly by: AttributionGrouping
  /** Of conversions; all where it is left out. */
  readonly labels?: ReadonlyArray<string>
  readonly accountId?: string
  /** At or after this time. */
  readonly from?: Instant
  /** Before this time. */
  readonly to?: Instant
  readonly costs?: ReadonlyArray<CostLine>
}

/**
 * The SQL of an attribution over the tables of an export, in DuckDB's dialect: what was asked for in variables, and
 * then a query that is the same whatever was asked.
 */
export const attributionQuery = (request: AttributionRequest): string => {
  const { model, halfLife, window, by, labels, accountId, from, to, costs = [] } = request
  const asked = setVariables({
    model: sqlText(model),
    half_life_days: String(halfLife),
    window_days: String(window),
    grouping: sqlText(by),
    labels: labels === undefined ? 'NULL::VARCHAR[]' : sqlList(labels.map(sqlText)),
    account: sqlText(accountId),
    from_at: sqlTime(from),
    to_at: sqlTime(to),
    costs: `${sqlList(costs.map(costRow))}::STRUCT(source_id VARCHAR, from_at TIMESTAMPTZ, to_at TIMESTAMPTZ, cost_per_lead BIGINT)[]`,
  })
  return `${asked}\n${packageFile('app/analysis/attribution/attribution.sql')}`
}

const costRow = ({ sourceId, from, to, cents }: CostLine): string =>
  `{ source_id: ${sqlText(sourceId)}, from_at: ${sqlTime(from)}, to_at: ${sqlTime(to)}, cost_per_lead: ${cents} }`
