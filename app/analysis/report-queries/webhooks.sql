-- Deliveries that were due in that time, by webhook.
-- Variables: account (NULL::VARCHAR: all), from_at and to_at (at or after, and before; NULL::TIMESTAMPTZ: open).
SELECT
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
WHERE (getvariable('account') IS NULL OR account_id = getvariable('account'))
  AND (getvariable('from_at') IS NULL OR due_at >= getvariable('from_at'))
  AND (getvariable('to_at') IS NULL OR due_at < getvariable('to_at'))
GROUP BY webhook_id
ORDER BY deliveries DESC, webhook_id;
