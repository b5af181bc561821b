import type { AttributionRow } from '../attribution/attribution-output.js'
import type { AttributionModel } from '../attribution/attribution-query.js'

/** Leads of a source on a day, or in a week. */
export type LeadsRow = {
  readonly unit: 'day' | 'week'
  /** Its first day, such as `2026-01-31`. */
  readonly since: string
  /** The day after its last. */
  readonly until: string
  readonly source_id: string
  readonly leads: bigint
}

export type LabelRow = {
  readonly label: string
  readonly type: string
  readonly leads: bigint
  readonly activities: bigint
}

export const deliveryStates = ['succeeded', 'due', 'held', 'failed', 'skipped', 'abandoned', 'dropped'] as const

/** How often a delivery was tried, by the column that counts these deliveries. */
export const attemptColumns = [
  ['attempts_0', 'not tried'],
  ['attempts_1', '1 attempt'],
  ['attempts_2', '2 attempts'],
  ['attempts_3', '3 to 5'],
  ['attempts_6', '6 or more'],
] as const

type Counted = (typeof deliveryStates)[number] | (typeof attemptColumns)[number][0] | 'deliveries'

export type WebhookRow = Readonly<Record<Counted, bigint>> & {
  readonly webhook_id: string
  /** From when it was due; null where nothing was delivered. */
  readonly median_delay_ms: number | null
  readonly p90_delay_ms: number | null
}

/** Everything that a report shows. */
export type ReportFigures = {
  /** Of all sources. */
  readonly titles: ReadonlyMap<string, string>
  readonly leads: ReadonlyArray<LeadsRow>
  readonly labels: ReadonlyArray<LabelRow>
  /** Sales by source under each model. */
  readonly models: Readonly<Record<AttributionModel, ReadonlyArray<AttributionRow>>>
  readonly weeks: ReadonlyArray<AttributionRow>
  readonly firstContact: ReadonlyArray<AttributionRow>
  readonly webhooks: ReadonlyArray<WebhookRow>
}
