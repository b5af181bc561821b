-- Of the leads, how many have an activity of each label.
-- Variables: account (NULL::VARCHAR: all), from_at and to_at (at or after, and before; NULL::TIMESTAMPTZ: open).
WITH counted AS (
  SELECT lead_id
  FROM leads
  WHERE (getvariable('account') IS NULL OR account_id = getvariable('account'))
    AND (getvariable('from_at') IS NULL OR submitted_at >= getvariable('from_at'))
    AND (getvariable('to_at') IS NULL OR submitted_at < getvariable('to_at'))
)
SELECT label, any_value(type) AS type, count(DISTINCT lead_id) AS leads, count(*) AS activities
FROM activities JOIN counted USING (lead_id)
GROUP BY label
ORDER BY leads DESC, label;
