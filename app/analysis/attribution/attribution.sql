-- Which sources sell: conversions, credits, costs and rates, over the tables of an export (DuckDB). The variables are the options:
--   model           'last-touch', 'first-touch', 'linear', 'time-decay' or 'position-based'
--   half_life_days  of time decay
--   window_days     how long before a conversion a lead still counts
--   grouping        'source', 'playbook', 'playbook-version', 'week', 'state' or 'first-contact'
--   labels          a list of the conversions' labels; NULL::VARCHAR[]: all
--   account         NULL::VARCHAR: all
--   from_at, to_at  conversions and leads at or after, and before; NULL::TIMESTAMPTZ: open
--   costs           a list of {source_id, from_at, to_at, cost_per_lead}; cost_per_lead in cents
WITH
-- The conversions that are asked about.
converted AS (
  SELECT record_id, value_cents
  FROM conversions
  WHERE (getvariable('labels') IS NULL OR list_contains(getvariable('labels'), label))
    AND (getvariable('account') IS NULL OR account_id = getvariable('account'))
    AND (getvariable('from_at') IS NULL OR converted_at >= getvariable('from_at'))
    AND (getvariable('to_at') IS NULL OR converted_at < getvariable('to_at'))
),
calls AS (
  SELECT lead_id, min("at") AS called_at FROM activities WHERE label = 'phone_call_started' GROUP BY lead_id
),
-- Leads that a step's message was sent to, when the first one began, and what came back after that.
conversation AS (
  SELECT
    first_sent.lead_id, sent_at,
    min(answer.begun_at) FILTER (answer.meaning NOT IN ('opted_out', 'opted_in', 'help')) AS replied_at,
    count(*) FILTER (answer.meaning = 'opted_out') > 0 AS has_opted_out
  FROM (
    SELECT lead_id, min(begun_at) AS sent_at FROM messages WHERE purpose = 'step' AND state IN ('sent', 'delivered') GROUP BY lead_id
  ) AS first_sent
  LEFT JOIN messages AS answer
    ON answer.lead_id = first_sent.lead_id AND answer.direction = 'inbound' AND answer.begun_at >= sent_at
  GROUP BY first_sent.lead_id, sent_at
),
-- Leads, each with the row that it belongs to. A week is made from milliseconds, so that it is one of UTC wherever this is run.
lead AS (
  SELECT
    lead_id, leads.contact_id, leads.source_id, submitted_at,
    (getvariable('from_at') IS NULL OR submitted_at >= getvariable('from_at'))
      AND (getvariable('to_at') IS NULL OR submitted_at < getvariable('to_at')) AS is_counted,
    called_at,
    -- By a call or a message; the one that there is, where there is no other.
    epoch_ms(least(called_at, sent_at)) - epoch_ms(submitted_at) AS contact_ms,
    sent_at, epoch_ms(replied_at) - epoch_ms(sent_at) AS reply_ms, has_opted_out,
    CASE getvariable('grouping')
      WHEN 'source' THEN leads.source_id
      WHEN 'playbook' THEN leads.playbook_id
      WHEN 'playbook-version' THEN leads.playbook_id || '/' || coalesce(CAST(playbook_version AS VARCHAR), '(none)')
      WHEN 'week' THEN strftime(make_timestamp_ms(epoch_ms(submitted_at)), '%G-W%V')
      WHEN 'state' THEN coalesce(state, '(unknown)')
      WHEN 'first-contact' THEN CASE
        WHEN contact_ms IS NULL THEN 'never'
        WHEN contact_ms < 300000 THEN '00:00-00:05'
        WHEN contact_ms < 3600000 THEN '00:05-01:00'
        WHEN contact_ms < 86400000 THEN '01:00-24:00'
        ELSE '24:00-'
      END
    END AS key
  FROM leads
  LEFT JOIN engagements USING (lead_id)
  LEFT JOIN calls USING (lead_id)
  LEFT JOIN conversation USING (lead_id)
  WHERE getvariable('account') IS NULL OR leads.account_id = getvariable('account')
),
-- Each conversion with each lead inside the look-back window.
candidate AS (
  SELECT
    record_id, value_cents, lead_id, lead.source_id, lead.contact_id, lead.key, lead.is_counted,
    epoch_ms(touches.submitted_at) AS submitted_ms,
    epoch_ms(touches.converted_at) AS converted_ms
  FROM converted JOIN touches USING (record_id) JOIN lead USING (lead_id)
  WHERE epoch_ms(touches.converted_at) - epoch_ms(touches.submitted_at)
    <= round(CAST(getvariable('window_days') AS DOUBLE) * 86400000)
),
-- A source counts once, with its last or its first lead.
touch AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY record_id ORDER BY submitted_ms, lead_id) AS place,
    count(*) OVER (PARTITION BY record_id) AS places,
    max(submitted_ms) OVER (PARTITION BY record_id) AS newest_ms
  FROM (
    FROM candidate
    QUALIFY row_number() OVER (
      PARTITION BY record_id, source_id
      ORDER BY
        CASE WHEN getvariable('model') IN ('last-touch', 'time-decay') THEN -submitted_ms ELSE submitted_ms END,
        CASE WHEN getvariable('model') IN ('last-touch', 'time-decay') THEN lead_id END DESC,
        lead_id
    ) = 1
  )
),
-- Integers, so that what is split adds up. The age of time decay is that beyond the newest touch: the ratios are the same.
weighed AS (
  SELECT *, sum(weight) OVER (PARTITION BY record_id) AS total
  FROM (
    SELECT *, CAST(CASE getvariable('model')
      WHEN 'first-touch' THEN CASE WHEN place = 1 THEN 1 ELSE 0 END
      WHEN 'last-touch' THEN CASE WHEN place = places THEN 1 ELSE 0 END
      WHEN 'linear' THEN 1
      WHEN 'time-decay' THEN
        round(1e9 * pow(2.0, (submitted_ms - newest_ms) / round(CAST(getvariable('half_life_days') AS DOUBLE) * 86400000)))
      WHEN 'position-based' THEN CASE WHEN places > 2 AND place IN (1, places) THEN 2 * (places - 2) ELSE 1 END
    END AS HUGEINT) AS weight
    FROM touch
  )
  WHERE weight > 0
),
-- Credits in millionths of a conversion. Integer parts first.
floored AS (
  SELECT
    *,
    (1000000 * weight) // total AS whole_millionths, (1000000 * weight) % total AS millionth_rest,
    (value_cents * weight) // total AS whole_cents, (value_cents * weight) % total AS cent_rest
  FROM weighed
),
-- What is left over goes to the largest remainders, and among equal ones to the earlier lead.
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
    sum(cents) AS value_cents
  FROM credited GROUP BY key
),
cost AS (
  SELECT unnest(getvariable('costs'), recursive := true)
),
brought AS (
  SELECT
    key,
    count(*) AS leads,
    count(DISTINCT contact_id) AS contacts,
    sum(cost_per_lead) AS cost_cents,
    count(contact_ms) AS leads_contacted,
    count(called_at) AS leads_called,
    round(quantile_cont(contact_ms / 60000, 0.5), 3) AS median_minutes_to_first_contact,
    round(quantile_cont(contact_ms / 60000, 0.9), 3) AS p90_minutes_to_first_contact,
    count(sent_at) AS leads_messaged,
    count(reply_ms) AS leads_replied,
    count(*) FILTER (has_opted_out) AS leads_opted_out,
    round(quantile_cont(reply_ms / 60000, 0.5), 3) AS median_minutes_to_first_reply,
    round(quantile_cont(reply_ms / 60000, 0.9), 3) AS p90_minutes_to_first_reply
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
)
SELECT
  key,
  title,
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
  coalesce(leads_contacted, 0) AS leads_contacted,
  coalesce(leads_called, 0) AS leads_called,
  median_minutes_to_first_contact,
  p90_minutes_to_first_contact,
  coalesce(leads_messaged, 0) AS leads_messaged,
  coalesce(leads_replied, 0) AS leads_replied,
  round(leads_replied / nullif(leads_messaged, 0), 6) AS reply_rate,
  coalesce(leads_opted_out, 0) AS leads_opted_out,
  round(leads_opted_out / nullif(leads_messaged, 0), 6) AS opt_out_rate,
  median_minutes_to_first_reply,
  p90_minutes_to_first_reply
FROM brought
FULL JOIN credit USING (key)
LEFT JOIN rate USING (key)
LEFT JOIN sale USING (key)
LEFT JOIN sources ON getvariable('grouping') = 'source' AND sources.source_id = key
ORDER BY
  key = '(none)',
  CASE WHEN getvariable('grouping') NOT IN ('week', 'first-contact') THEN coalesce(value_cents, 0) END DESC,
  key;
