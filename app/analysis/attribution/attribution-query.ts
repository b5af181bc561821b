import type { Instant } from '../../../domain/instant.js'
import type { CostLine } from './costs.js'

export const attributionModels = ['last-touch', 'first-touch', 'linear', 'time-decay', 'position-based'] as const
export type AttributionModel = (typeof attributionModels)[number]

export const attributionGroupings = ['source', 'playbook', 'week', 'state', 'first-contact'] as const
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

const day = 86_400_000
const milliseconds = (days: number): string => String(Math.round(days * day))
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
const timeOf = (instant: Instant | undefined): string =>
  instant === undefined ? 'NULL::TIMESTAMPTZ' : `TIMESTAMPTZ '${instant}'`

/** Which rows concern the range, by a column with their time. */
export const within = (column: string, { from, to }: Pick<AttributionRequest, 'from' | 'to'>): string =>
  [
    ...(from === undefined ? [] : [`${column} >= ${timeOf(from)}`]),
    ...(to === undefined ? [] : [`${column} < ${timeOf(to)}`]),
  ].join(' AND ') || 'true'

export const ofAccount = ({ accountId }: Pick<AttributionRequest, 'accountId'>): string =>
  accountId === undefined ? 'true' : `account_id = ${quoted(accountId)}`

const costRows = ({ costs = [] }: AttributionRequest): string =>
  costs.length === 0
    ? "('', NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, 0)"
    : costs
        .map(({ sourceId, from, to, cents }) => `(${quoted(sourceId)}, ${timeOf(from)}, ${timeOf(to)}, ${cents})`)
        .join(',\n    ')

/** What a lead's row is called. A week is made from milliseconds, so that it is one of UTC wherever the query is run. */
const keys: Readonly<Record<AttributionGrouping, string>> = {
  source: 'source_id',
  playbook: 'playbook_id',
  week: "strftime(make_timestamp_ms(epoch_ms(submitted_at)), '%G-W%V')",
  state: "coalesce(state, '(unknown)')",
  'first-contact': `CASE
      WHEN called_at IS NULL THEN 'never'
      WHEN epoch_ms(called_at) - epoch_ms(submitted_at) < 300000 THEN '00:00-00:05'
      WHEN epoch_ms(called_at) - epoch_ms(submitted_at) < 3600000 THEN '00:05-01:00'
      WHEN epoch_ms(called_at) - epoch_ms(submitted_at) < 86400000 THEN '01:00-24:00'
      ELSE '24:00-'
    END`,
}

/** Which lead of a source stands for it: the first in this order. */
const orders: Readonly<Record<AttributionModel, string>> = {
  'first-touch': 'submitted_ms, lead_id',
  'last-touch': 'submitted_ms DESC, lead_id DESC',
  linear: 'submitted_ms, lead_id',
  'time-decay': 'submitted_ms DESC, lead_id DESC',
  'position-based': 'submitted_ms, lead_id',
}

/** Integers, so that what is split adds up. The age of time decay is that beyond the newest touch: the ratios are the same. */
const weightOf = ({ model, halfLife }: AttributionRequest): string => {
  switch (model) {
    case 'first-touch':
      return 'CASE WHEN place = 1 THEN 1 ELSE 0 END'
    case 'last-touch':
      return 'CASE WHEN place = places THEN 1 ELSE 0 END'
    case 'linear':
      return '1'
    case 'time-decay':
      return `round(1e9 * pow(2.0, (submitted_ms - newest_ms) / ${milliseconds(halfLife)}))`
    case 'position-based':
      return 'CASE WHEN places > 2 AND place IN (1, places) THEN 2 * (places - 2) ELSE 1 END'
  }
}

/** What both halves begin with: conversions and leads that are asked about, and what they have to do with each other. */
const selection = (request: AttributionRequest): string => `WITH
-- The conversions that are asked about.
converted AS (
  SELECT record_id, value_cents
  FROM conversions
  WHERE ${request.labels === undefined ? 'true' : `label IN (${request.labels.map(quoted).join(', ')})`}
    AND ${ofAccount(request)}
    AND ${within('converted_at', request)}
),
calls AS (
  SELECT lead_id, min("at") AS called_at FROM activities WHERE label = 'phone_call_started' GROUP BY lead_id
),
-- Leads, each with the row that it belongs to.
lead AS (
  SELECT
    lead_id, contact_id, source_id, submitted_at,
    ${within('submitted_at', request)} AS is_counted,
    epoch_ms(called_at) - epoch_ms(submitted_at) AS call_ms,
    ${keys[request.by]} AS key
  FROM leads LEFT JOIN calls USING (lead_id)
  WHERE ${ofAccount(request)}
),
-- Each conversion with each lead inside the look-back window.
candidate AS (
  SELECT
    record_id, value_cents, lead_id, lead.source_id, lead.contact_id, lead.key, lead.is_counted,
    epoch_ms(touches.submitted_at) AS submitted_ms,
    epoch_ms(touches.converted_at) AS converted_ms
  FROM converted JOIN touches USING (record_id) JOIN lead USING (lead_id)
  WHERE epoch_ms(touches.converted_at) - epoch_ms(touches.submitted_at) <= ${milliseconds(request.window)}
)`

/** Integer parts first; what is left over goes to the largest remainders, and among equal ones to the earlier lead. */
const credits = (request: AttributionRequest): string => `-- A source counts once.
touch AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY record_id ORDER BY submitted_ms, lead_id) AS place,
    count(*) OVER (PARTITION BY record_id) AS places,
    max(submitted_ms) OVER (PARTITION BY record_id) AS newest_ms
  FROM (
    FROM candidate
    QUALIFY row_number() OVER (PARTITION BY record_id, source_id ORDER BY ${orders[request.model]}) = 1
  )
),
weighed AS (
  SELECT *, sum(weight) OVER (PARTITION BY record_id) AS total
  FROM (SELECT *, CAST(${weightOf(request)} AS HUGEINT) AS weight FROM touch)
  WHERE weight > 0
),
-- Credits in millionths of a conversion.
floored AS (
  SELECT
    *,
    (1000000 * weight) // total AS whole_millionths, (1000000 * weight) % total AS millionth_rest,
    (value_cents * weight) // total AS whole_cents, (value_cents * weight) % total AS cent_rest
  FROM weighed
),
credited AS (
  SELECT
    key, record_id,
    whole_millionths + CAST(
      row_number() OVER (PARTITION BY record_id ORDER BY millionth_rest DESC, submitted_ms, lead_id)
        <= 1000000 - sum(whole_millionths) OVER (PARTITION BY record_id) AS INTEGER) AS millionths,
    whole_cents + CAST(
      row_number() OVER (PARTITION BY record_id ORDER BY cent_rest DESC, submitted_ms, lead_id)
        <= value_cents - sum(whole_cents) OVER (PARTITION BY record_id) AS INTEGER) AS cents
  FROM floored
  UNION ALL
  SELECT '(none)', record_id, 1000000, value_cents FROM converted ANTI JOIN candidate USING (record_id)
),
credit AS (
  SELECT
    key,
    count(DISTINCT record_id) AS conversions,
    CAST(sum(millionths) AS DECIMAL(30, 0)) * 0.000001 AS credit,
    CAST(sum(cents) AS BIGINT) AS value_cents
  FROM credited GROUP BY key
)`

const rates = (request: AttributionRequest): string => `cost (source_id, from_at, to_at, cost_per_lead) AS (
  VALUES
    ${costRows(request)}
),
brought AS (
  SELECT
    key,
    count(*) AS leads,
    count(DISTINCT contact_id) AS contacts,
    CAST(sum(cost_per_lead) AS BIGINT) AS cost_cents,
    count(call_ms) AS leads_called,
    round(quantile_cont(call_ms / 60000, 0.5), 3) AS median_minutes_to_first_contact,
    round(quantile_cont(call_ms / 60000, 0.9), 3) AS p90_minutes_to_first_contact
  FROM lead LEFT JOIN cost
    ON cost.source_id = lead.source_id
    AND (from_at IS NULL OR from_at <= submitted_at) AND (to_at IS NULL OR submitted_at < to_at)
  WHERE is_counted
  GROUP BY key
),
-- Whatever the model: contacts with a counted lead of the row before one of the conversions.
sold_to AS (
  SELECT key, count(DISTINCT contact_id) AS converted FROM candidate WHERE is_counted GROUP BY key
),
sale AS (
  SELECT
    key,
    round(quantile_cont(ms / 60000, 0.5), 3) AS median_minutes_to_sale,
    round(quantile_cont(ms / 60000, 0.9), 3) AS p90_minutes_to_sale
  FROM (SELECT key, max(converted_ms - submitted_ms) AS ms FROM candidate GROUP BY key, record_id)
  GROUP BY key
),
-- Wilson's interval of 95 %: z = 1.96 to 16 digits.
rate AS (
  SELECT
    key, contacts, coalesce(converted, 0) AS converted,
    coalesce(converted, 0) / contacts AS rate,
    1.959963984540054 ** 2 / contacts AS z2,
    1.959963984540054 * sqrt((rate * (1 - rate) + z2 / 4) / contacts) AS spread,
    greatest(0, (rate + z2 / 2 - spread) / (1 + z2)) AS rate_low,
    least(1, (rate + z2 / 2 + spread) / (1 + z2)) AS rate_high
  FROM brought LEFT JOIN sold_to USING (key)
)`

const figures = ({ by }: AttributionRequest): string => `SELECT
  key,
  ${by === 'source' ? 'title' : 'NULL::VARCHAR AS title'},
  coalesce(leads, 0) AS leads,
  coalesce(conversions, 0) AS conversions,
  coalesce(credit, 0) AS credit,
  coalesce(value_cents, 0) AS value_cents,
  cost_cents,
  coalesce(rate.contacts, 0) AS contacts,
  coalesce(converted, 0) AS converted,
  round(rate.rate, 6) AS rate,
  round(rate_low, 6) AS rate_low,
  round(rate_high, 6) AS rate_high,
  median_minutes_to_sale,
  p90_minutes_to_sale,
  coalesce(leads_called, 0) AS leads_called,
  median_minutes_to_first_contact,
  p90_minutes_to_first_contact
FROM brought
FULL JOIN credit USING (key)
LEFT JOIN rate USING (key)
LEFT JOIN sale USING (key)
${by === 'source' ? 'LEFT JOIN sources ON sources.source_id = key\n' : ''}ORDER BY key = '(none)'${by === 'week' || by === 'first-contact' ? '' : ', value_cents DESC'}, key`

/**
 * The SQL of an attribution over the tables of an export, in DuckDB's dialect, with everything that was asked for filled in.
 * It stands in this file because only compiled sources are in the container image, and a file of SQL would not be.
 */
export const attributionQuery = (request: AttributionRequest): string =>
  `${[selection(request), credits(request), rates(request)].join(',\n')}\n${figures(request)};\n`
