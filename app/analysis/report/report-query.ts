import { ofAccount, within, type AttributionRequest } from '../attribution/attribution-query.js'

/** Leads of that time, sales of that time, and deliveries that were due in it. */
export type ReportRequest = Pick<AttributionRequest, 'accountId' | 'from' | 'to'>

/** Days that a chart has room for. */
const days = 92

/** Leads by day and source; by week, which begins on its Monday, where there are too many days. Of UTC wherever it is run. */
export const leadsQuery = (request: ReportRequest): string => `WITH
counted AS (
  SELECT source_id, make_timestamp_ms(epoch_ms(submitted_at)) AS submitted
  FROM leads
  WHERE ${ofAccount(request)} AND ${within('submitted_at', request)}
),
span AS (SELECT CASE WHEN max(submitted::DATE) - min(submitted::DATE) < ${days} THEN 'day' ELSE 'week' END AS unit FROM counted)
SELECT
  unit,
  strftime(date_trunc(unit, submitted), '%Y-%m-%d') AS since,
  strftime(date_trunc(unit, submitted) + CASE unit WHEN 'day' THEN INTERVAL 1 DAY ELSE INTERVAL 7 DAY END, '%Y-%m-%d') AS until,
  source_id,
  count(*) AS leads
FROM counted, span
GROUP BY ALL
ORDER BY since, source_id;
`

/** Of the leads, how many have an activity of each label. */
export const labelsQuery = (request: ReportRequest): string => `WITH
counted AS (
  SELECT lead_id FROM leads WHERE ${ofAccount(request)} AND ${within('submitted_at', request)}
)
SELECT label, any_value(type) AS type, count(DISTINCT lead_id) AS leads, count(*) AS activities
FROM activities JOIN counted USING (lead_id)
GROUP BY label
ORDER BY leads DESC, label;
`

export const webhooksQuery = (request: ReportRequest): string => `SELECT
  webhook_id,
  count(*) AS deliveries,
  count(*) FILTER (state = 'succeeded') AS succeeded,
  count(*) FILTER (state = 'due') AS due,
  count(*) FILTER (state = 'held') AS held,
  count(*) FILTER (state = 'failed') AS failed,
  count(*) FILTER (state = 'skipped') AS skipped,
  count(*) FILTER (state = 'abandoned') AS abandoned,
  count(*) FILTER (state = 'dropped') AS dropped,
  count(*) FILTER (attempts = 0) AS attempts_0,
  count(*) FILTER (attempts = 1) AS attempts_1,
  count(*) FILTER (attempts = 2) AS attempts_2,
  count(*) FILTER (attempts BETWEEN 3 AND 5) AS attempts_3,
  count(*) FILTER (attempts >= 6) AS attempts_6,
  round(quantile_cont(delay_ms, 0.5)) AS median_delay_ms,
  round(quantile_cont(delay_ms, 0.9)) AS p90_delay_ms
FROM deliveries
WHERE ${ofAccount(request)} AND ${within('due_at', request)}
GROUP BY webhook_id
ORDER BY deliveries DESC, webhook_id;
`

export const titlesQuery = 'SELECT source_id, title FROM sources ORDER BY source_id;'
