import { leadRows, leadStages } from './lead-rows.js'
import { deliveries, messages } from './sent-tables.js'
import type { ColumnType, StageName } from './staged-rows.js'

/** A column's name, and its type in DuckDB's words; `personal` where it is there only if personal values are shown. */
type Column = readonly [name: string, type: ColumnType, personal?: 'personal']

type Table = {
  readonly columns: ReadonlyArray<Column>
  readonly stages: ReadonlyArray<StageName>
  /** A column of each stage that the SQL reads. Rows with different values have nothing to do with each other. */
  readonly key: string
  /** The columns by which rows are ordered: a time, and then what tells rows of one time apart. */
  readonly order: ReadonlyArray<string>
  /** Over its stages. It has all columns, and may have more. */
  readonly sql: string
}

const tablesByName = {
  leads: {
    columns: [
      ['lead_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['source_id', 'VARCHAR'],
      ['playbook_id', 'VARCHAR'],
      ['contact_id', 'VARCHAR'],
      ['engagement_id', 'VARCHAR'],
      ['submitted_at', 'TIMESTAMPTZ'],
      ['state', 'VARCHAR'],
      ['filtered', 'BOOLEAN'],
    ],
    stages: [...leadStages, 'activity_recorded'],
    key: 'lead_id',
    order: ['submitted_at', 'lead_id'],
    sql: `
      SELECT *, lead_id IN (SELECT lead_id FROM activity_recorded WHERE label = 'filtered') AS filtered
      FROM ${leadRows}`,
  },
  contacts: {
    columns: [
      ['contact_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['created_at', 'TIMESTAMPTZ'],
      ['first_source_id', 'VARCHAR'],
      ['opted_out', 'BOOLEAN'],
      ['opted_out_at', 'TIMESTAMPTZ'],
      ['first_name', 'VARCHAR', 'personal'],
      ['last_name', 'VARCHAR', 'personal'],
      ['email', 'VARCHAR', 'personal'],
      ['phone', 'VARCHAR', 'personal'],
    ],
    stages: [
      ...leadStages,
      'activity_recorded',
      'contact_details',
      'contact_opt_changes',
      'erased_contact_opt_changes',
    ],
    key: 'contact_id',
    order: ['created_at', 'contact_id'],
    // The last word in the contact's own stream counts. Where an older version erased it, activities alone tell when it
    // had opted out.
    sql: `
      SELECT contact.*, coalesce(opted_out, false) AS opted_out, opted_out_at, first_name, last_name, email, phone
      FROM (
        SELECT
          contact_id,
          any_value(account_id) AS account_id,
          min(submitted_at) AS created_at,
          arg_min(source_id, (submitted_at, lead_id)) AS first_source_id
        FROM ${leadRows}
        GROUP BY contact_id
      ) AS contact
      LEFT JOIN (
        SELECT contact_id,
          min(recorded_at) FILTER (meaning = 'opted_out') AS opted_out_at,
          arg_max(meaning, revision) = 'opted_out' AS opted_out
        FROM (
          FROM contact_opt_changes
          UNION ALL BY NAME FROM erased_contact_opt_changes
          UNION ALL BY NAME
          SELECT contact_id, label AS meaning, recorded_at, -1 AS revision FROM activity_recorded
          WHERE label = 'opted_out'
        ) GROUP BY contact_id
      ) AS opt_changes USING (contact_id)
      LEFT JOIN (
        FROM contact_details
        QUALIFY row_number() OVER (PARTITION BY contact_id ORDER BY revision DESC) = 1
      ) AS details USING (contact_id)`,
  },
  engagements: {
    columns: [
      ['engagement_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['contact_id', 'VARCHAR'],
      ['lead_id', 'VARCHAR'],
      ['source_id', 'VARCHAR'],
      ['playbook_id', 'VARCHAR'],
      ['playbook_version', 'INTEGER'],
      ['started_at', 'TIMESTAMPTZ'],
      ['ended_at', 'TIMESTAMPTZ'],
      ['end_reason', 'VARCHAR'],
    ],
    stages: ['engagement_started', 'engagement_ended'],
    key: 'engagement_id',
    order: ['started_at', 'engagement_id'],
    sql: `
      SELECT started.*, started.recorded_at AS started_at, ended.ended_at, ended.reason AS end_reason
      FROM engagement_started AS started
      LEFT JOIN engagement_ended AS ended USING (engagement_id)`,
  },
  activities: {
    columns: [
      ['activity_id', 'VARCHAR'],
      ['engagement_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['contact_id', 'VARCHAR'],
      ['lead_id', 'VARCHAR'],
      ['source_id', 'VARCHAR'],
      ['playbook_id', 'VARCHAR'],
      ['type', 'VARCHAR'],
      ['label', 'VARCHAR'],
      ['at', 'TIMESTAMPTZ'],
      ['record_id', 'VARCHAR'],
      ['note', 'VARCHAR', 'personal'],
      ['properties', 'VARCHAR', 'personal'],
    ],
    stages: ['activity_recorded', 'remark_made', 'remarks_erased'],
    key: 'engagement_id',
    order: ['at', 'activity_id'],
    // What the service says of an activity, and what anybody says of one in an older version, stands in it.
    sql: `
      SELECT activity.* REPLACE (
        coalesce(said.note, activity.note) AS note,
        coalesce(said.properties, activity.properties) AS properties
      )
      FROM activity_recorded AS activity
      LEFT JOIN remark_made AS said ON said.engagement_id = activity.engagement_id AND said.revision = activity.remark`,
  },
  conversions: {
    columns: [
      ['record_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['conversion_id', 'VARCHAR'],
      ['title', 'VARCHAR'],
      ['label', 'VARCHAR'],
      ['contact_id', 'VARCHAR'],
      ['converted_at', 'TIMESTAMPTZ'],
      ['recorded_at', 'TIMESTAMPTZ'],
      ['value_cents', 'BIGINT'],
      ['lead_id', 'VARCHAR'],
      ['source_id', 'VARCHAR'],
      ['engagement_id', 'VARCHAR'],
    ],
    stages: ['conversion_recorded'],
    key: 'record_id',
    order: ['converted_at', 'record_id'],
    sql: 'SELECT *, value AS value_cents FROM conversion_recorded',
  },
  touches: {
    columns: [
      ['record_id', 'VARCHAR'],
      ['lead_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['contact_id', 'VARCHAR'],
      ['source_id', 'VARCHAR'],
      ['playbook_id', 'VARCHAR'],
      ['submitted_at', 'TIMESTAMPTZ'],
      ['converted_at', 'TIMESTAMPTZ'],
    ],
    stages: ['conversion_recorded', ...leadStages],
    key: 'contact_id',
    order: ['converted_at', 'record_id', 'submitted_at', 'lead_id'],
    sql: `
      SELECT conversion.record_id, conversion.converted_at, lead.*
      FROM conversion_recorded AS conversion
      JOIN ${leadRows} AS lead
        ON lead.contact_id = conversion.contact_id AND lead.submitted_at <= conversion.converted_at`,
  },
  sources: {
    columns: [
      ['source_id', 'VARCHAR'],
      ['account_id', 'VARCHAR'],
      ['title', 'VARCHAR'],
      ['playbook_id', 'VARCHAR'],
      ['created_at', 'TIMESTAMPTZ'],
      ['suspended', 'BOOLEAN'],
    ],
    stages: ['source_created', 'source_suspended'],
    key: 'source_id',
    order: ['created_at', 'source_id'],
    sql: `
      SELECT source.*, source.recorded_at AS created_at, coalesce(last.suspended, false) AS suspended
      FROM source_created AS source
      LEFT JOIN (
        SELECT source_id, arg_max(suspended, revision) AS suspended FROM source_suspended GROUP BY source_id
      ) AS last USING (source_id)`,
  },
  deliveries,
  messages,
} as const satisfies Readonly<Record<string, Table>>

export type TableName = keyof typeof tablesByName

export const tables: Readonly<Record<TableName, Table>> = tablesByName

export const tableNames = Object.keys(tables) as ReadonlyArray<TableName>

export type Shown = { readonly isPersonalShown: boolean }

export const columnsOf = (name: TableName, { isPersonalShown }: Shown): ReadonlyArray<Column> =>
  tables[name].columns.filter(([, , personal]) => isPersonalShown || personal === undefined)

export const stagesOf = (names: ReadonlyArray<TableName>): ReadonlyArray<StageName> => [
  ...new Set(names.flatMap((name) => tables[name].stages)),
]
