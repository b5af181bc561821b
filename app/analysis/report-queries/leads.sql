-- Leads by day and source; by week, which begins on its Monday, where there are too many days for a chart. Of UTC wherever
-- this is run.
-- Variables: account (NULL::VARCHAR: all), from_at and to_at (at or after, and before; NULL::TIMESTAMPTZ: open).
WITH counted AS (
  SELECT source_id, make_timestamp_ms(epoch_ms(submitted_at)) AS submitted
  FROM leads
  WHERE (getvariable('account') IS NULL OR account_id = getvariable('account'))
    AND (getvariable('from_at') IS NULL OR submitted_at >= getvariable('from_at'))
    AND (getvariable('to_at') IS NULL OR submitted_at < getvariable('to_at'))
),
span AS (SELECT CASE WHEN max(submitted::DATE) - min(submitted::DATE) < 92 THEN 'day' ELSE 'week' END AS unit FROM counted)
SELECT
  unit,
  strftime(date_trunc(unit, submitted), '%Y-%m-%d') AS since,
  strftime(date_trunc(unit, submitted) + CASE unit WHEN 'day' THEN INTERVAL 1 DAY ELSE INTERVAL 7 DAY END, '%Y-%m-%d') AS until,
  source_id,
  count(*) AS leads
FROM counted, span
GROUP BY ALL
ORDER BY since, source_id;
