import type { StageName } from './staged-rows.js'

/** The stages that `leadRows` is made of. */
export const leadStages: ReadonlyArray<StageName> = ['engagement_started', 'lead_submitted', 'leads_erased']

/**
 * Leads as their engagements tell of them, which outlasts an erasure. Events of older versions lack the state, and a
 * lead may be submitted and never engaged: both stand with the lead alone, or with its erasure.
 */
export const leadRows = `(
        SELECT begun.* REPLACE (coalesce(begun.state, lead.state) AS state)
        FROM (
          SELECT * REPLACE (coalesce(submitted_at, recorded_at) AS submitted_at) FROM engagement_started
          UNION ALL BY NAME
          SELECT *, recorded_at AS submitted_at FROM lead_submitted ANTI JOIN engagement_started USING (lead_id)
          UNION ALL BY NAME
          FROM leads_erased ANTI JOIN engagement_started USING (lead_id)
        ) AS begun
        LEFT JOIN lead_submitted AS lead USING (lead_id)
      )`
