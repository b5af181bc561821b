/** What went out: to webhooks, and to contacts, with what came back from these. */
export const deliveries = {
  columns: [
    ['delivery_id', 'VARCHAR'],
    ['account_id', 'VARCHAR'],
    ['webhook_id', 'VARCHAR'],
    ['contact_id', 'VARCHAR'],
    ['engagement_id', 'VARCHAR'],
    ['lead_id', 'VARCHAR'],
    ['label', 'VARCHAR'],
    ['state', 'VARCHAR'],
    ['due_at', 'TIMESTAMPTZ'],
    ['first_attempt_at', 'TIMESTAMPTZ'],
    ['attempts', 'INTEGER'],
    ['ended_at', 'TIMESTAMPTZ'],
    ['delay_ms', 'BIGINT'],
  ],
  stages: ['delivery_due', 'deliveries_erased', 'delivery_changed'],
  key: 'delivery_id',
  order: ['due_at', 'delivery_id'],
  // What was delivered, or abandoned, stays so, whatever becomes of its webhook or of a resend.
  sql: `
    SELECT
      due.*,
      CASE WHEN delivered_at IS NULL THEN coalesce(changed.state, 'due') ELSE 'succeeded' END AS state,
      first_attempt_at,
      coalesce(changed.attempts, 0) AS attempts,
      CASE
        WHEN delivered_at IS NOT NULL THEN delivered_at
        WHEN changed.state = 'abandoned' THEN abandoned_at
        WHEN changed.state IN ('failed', 'skipped', 'dropped') THEN changed_at
      END AS ended_at,
      epoch_ms(delivered_at) - epoch_ms(due_at) AS delay_ms
    FROM (FROM delivery_due UNION ALL BY NAME FROM deliveries_erased) AS due
    LEFT JOIN (
      SELECT
        delivery_id,
        arg_max(state, revision) FILTER (state IS NOT NULL) AS state,
        arg_max(recorded_at, revision) FILTER (state IS NOT NULL) AS changed_at,
        arg_min(recorded_at, revision) FILTER (state = 'succeeded') AS delivered_at,
        min(recorded_at) FILTER (state = 'abandoned') AS abandoned_at,
        arg_min(recorded_at, revision) FILTER (attempt IS NOT NULL) AS first_attempt_at,
        max(attempt) AS attempts
      FROM delivery_changed
      GROUP BY delivery_id
    ) AS changed USING (delivery_id)`,
} as const

export const messages = {
  columns: [
    ['message_id', 'VARCHAR'],
    ['account_id', 'VARCHAR'],
    ['contact_id', 'VARCHAR'],
    ['engagement_id', 'VARCHAR'],
    ['lead_id', 'VARCHAR'],
    ['source_id', 'VARCHAR'],
    ['playbook_id', 'VARCHAR'],
    ['direction', 'VARCHAR'],
    ['purpose', 'VARCHAR'],
    ['step', 'INTEGER'],
    ['state', 'VARCHAR'],
    ['meaning', 'VARCHAR'],
    ['segments', 'INTEGER'],
    ['attempts', 'INTEGER'],
    ['created_at', 'TIMESTAMPTZ'],
    ['begun_at', 'TIMESTAMPTZ'],
    ['ended_at', 'TIMESTAMPTZ'],
  ],
  stages: ['message_changed', 'engagement_started'],
  key: 'engagement_id',
  order: ['created_at', 'message_id'],
  sql: `
      SELECT changed.* REPLACE (
          CASE
            WHEN changed.state IN ('waiting', 'sending') OR reported IS NULL THEN changed.state
            WHEN reported = 'sent' AND changed.state <> 'unknown' THEN changed.state
            ELSE reported
          END AS state
        ), lead_id, source_id, playbook_id
      FROM (
        SELECT
          message_id,
          any_value(account_id) AS account_id,
          any_value(contact_id) AS contact_id,
          any_value(engagement_id) AS engagement_id,
          any_value(direction) AS direction,
          any_value(purpose) AS purpose,
          any_value(step) AS step,
          arg_max(state, revision) FILTER (state IS NOT NULL) AS state,
          arg_max(reported, revision) FILTER (reported IS NOT NULL) AS reported,
          any_value(meaning) AS meaning,
          any_value(segments) AS segments,
          coalesce(max(attempt), 0) AS attempts,
          min(recorded_at) AS created_at,
          min(recorded_at) FILTER (state IN ('sending', 'received')) AS begun_at,
          CASE WHEN arg_max(state, revision) FILTER (state IS NOT NULL) NOT IN ('waiting', 'sending', 'received')
            THEN arg_max(recorded_at, revision) FILTER (state IS NOT NULL)
          END AS ended_at
        FROM message_changed
        GROUP BY message_id
      ) AS changed
      LEFT JOIN engagement_started USING (engagement_id)`,
} as const
