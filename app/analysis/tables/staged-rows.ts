import { contact } from '../../../domain/contact.js'
import type { Category, RecordedEvent } from '../../../domain/events.js'
import { marketingSource } from '../../../domain/marketing-source.js'
import { residenceStateOf } from '../../../domain/residence-state.js'
import { idIn } from '../../../domain/stream-name.js'
import { deliveryChanges } from './delivery-changes.js'
import { messageChanges } from './message-changes.js'
import { contactOptChange, erasedOptChanges } from './opt-changes.js'

/** In DuckDB's words. */
export type ColumnType = 'VARCHAR' | 'TIMESTAMPTZ' | 'BIGINT' | 'INTEGER' | 'BOOLEAN'

type Cell = string | number | boolean | null

type Row = Readonly<Record<string, unknown>>

/** Rows as they follow from one event each. The tables for analysts are made of them in SQL: see `tidy-tables.ts`. */
type Stage = {
  readonly category: Category
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Columns that stay empty where no personal value is shown. */
  readonly personal?: ReadonlySet<string>
  /**
   * One row or several, as values by column; values of no column are left out. Undefined where none follows. A row may
   * name another `recorded_at` and `revision` than its event's: what a closing event tells of is ordered before it, by
   * its index.
   */
  readonly rowOf: (event: RecordedEvent) => Row | ReadonlyArray<Row> | undefined
}

/** Columns of every stage: when the event was recorded, and its revision, unless the row names others. */
const always = { recorded_at: 'TIMESTAMPTZ', revision: 'BIGINT' } as const

const attribution = {
  account_id: 'VARCHAR',
  contact_id: 'VARCHAR',
  lead_id: 'VARCHAR',
  source_id: 'VARCHAR',
  playbook_id: 'VARCHAR',
  engagement_id: 'VARCHAR',
} as const

const optChangeColumns = { contact_id: 'VARCHAR', meaning: 'VARCHAR' } as const

const dueColumns = {
  delivery_id: 'VARCHAR',
  account_id: 'VARCHAR',
  webhook_id: 'VARCHAR',
  contact_id: 'VARCHAR',
  engagement_id: 'VARCHAR',
  lead_id: 'VARCHAR',
  label: 'VARCHAR',
  due_at: 'TIMESTAMPTZ',
} as const

const stagesByName = {
  lead_submitted: {
    category: 'lead',
    columns: { ...attribution, state: 'VARCHAR' },
    rowOf: ({ type, data }) =>
      type === 'LeadSubmitted' ? { ...data, state: residenceStateOf(data.details) } : undefined,
  },
  leads_erased: {
    category: 'lead',
    columns: { ...attribution, submitted_at: 'TIMESTAMPTZ' },
    // As of a moment before the erasure the lead still counts, so its row has the time of the submission.
    rowOf: ({ type, data }) =>
      type === 'LeadErased' ? { ...data, recorded_at: data.submitted_at, revision: 0 } : undefined,
  },
  contact_details: {
    category: 'contact',
    columns: {
      contact_id: 'VARCHAR',
      first_name: 'VARCHAR',
      last_name: 'VARCHAR',
      email: 'VARCHAR',
      phone: 'VARCHAR',
    },
    personal: new Set(['first_name', 'last_name', 'email', 'phone']),
    rowOf: ({ type, data, stream }) =>
      type === 'ContactCreated' || type === 'ContactDetailsChanged'
        ? { ...data.details, contact_id: idIn(contact, stream) }
        : undefined,
  },
  contact_opt_changes: { category: 'contact', columns: optChangeColumns, rowOf: contactOptChange },
  erased_contact_opt_changes: { category: 'contact', columns: optChangeColumns, rowOf: erasedOptChanges },
  engagement_started: {
    category: 'engagement',
    columns: { ...attribution, submitted_at: 'TIMESTAMPTZ', state: 'VARCHAR', playbook_version: 'INTEGER' },
    rowOf: ({ type, data }) => (type === 'EngagementStarted' ? { ...data, ...data.follow_up } : undefined),
  },
  engagement_ended: {
    category: 'engagement',
    columns: { engagement_id: 'VARCHAR', ended_at: 'TIMESTAMPTZ', reason: 'VARCHAR' },
    rowOf: ({ type, data }) => (type === 'EngagementEnded' ? data : undefined),
  },
  activity_recorded: {
    category: 'engagement',
    columns: {
      activity_id: 'VARCHAR',
      ...attribution,
      type: 'VARCHAR',
      label: 'VARCHAR',
      at: 'TIMESTAMPTZ',
      record_id: 'VARCHAR',
      remark: 'BIGINT',
      note: 'VARCHAR',
      properties: 'VARCHAR',
    },
    personal: new Set(['note', 'properties']),
    rowOf: ({ type, data, id }) =>
      type === 'ActivityRecorded'
        ? {
            ...data.activity,
            activity_id: id,
            record_id: data.record_id,
            remark: data.remark,
            properties: JSON.stringify(data.activity.properties),
          }
        : undefined,
  },
  remark_made: {
    category: 'remark',
    columns: { engagement_id: 'VARCHAR', note: 'VARCHAR', properties: 'VARCHAR' },
    personal: new Set(['note', 'properties']),
    rowOf: ({ type, data }) =>
      type === 'RemarkMade' ? { ...data, properties: JSON.stringify(data.properties) } : undefined,
  },
  remarks_erased: {
    category: 'remark',
    columns: { engagement_id: 'VARCHAR' },
    rowOf: ({ type, data }) => (type === 'RemarksErased' ? data : undefined),
  },
  conversion_recorded: {
    category: 'conversion_contact',
    columns: {
      record_id: 'VARCHAR',
      account_id: 'VARCHAR',
      conversion_id: 'VARCHAR',
      title: 'VARCHAR',
      label: 'VARCHAR',
      contact_id: 'VARCHAR',
      converted_at: 'TIMESTAMPTZ',
      value: 'BIGINT',
      lead_id: 'VARCHAR',
      source_id: 'VARCHAR',
      engagement_id: 'VARCHAR',
    },
    rowOf: ({ type, data }) => (type === 'ConversionRecorded' ? data : undefined),
  },
  source_created: {
    category: 'marketing_source',
    columns: { source_id: 'VARCHAR', account_id: 'VARCHAR', title: 'VARCHAR', playbook_id: 'VARCHAR' },
    rowOf: ({ type, data }) => (type === 'MarketingSourceCreated' ? data : undefined),
  },
  source_suspended: {
    category: 'marketing_source',
    columns: { source_id: 'VARCHAR', suspended: 'BOOLEAN' },
    rowOf: ({ type, stream }) =>
      type === 'MarketingSourceSuspended' || type === 'MarketingSourceResumed'
        ? { source_id: idIn(marketingSource, stream), suspended: type === 'MarketingSourceSuspended' }
        : undefined,
  },
  delivery_due: {
    category: 'delivery',
    columns: dueColumns,
    rowOf: ({ type, data }) => (type === 'DeliveryDue' ? data : undefined),
  },
  deliveries_erased: {
    category: 'delivery',
    columns: dueColumns,
    rowOf: ({ type, data }) =>
      type === 'DeliveryErased' ? { ...data, recorded_at: data.created_at, revision: 0 } : undefined,
  },
  delivery_changed: {
    category: 'delivery',
    columns: { delivery_id: 'VARCHAR', state: 'VARCHAR', attempt: 'INTEGER' },
    rowOf: deliveryChanges,
  },
  message_changed: {
    category: 'message',
    columns: {
      message_id: 'VARCHAR',
      account_id: 'VARCHAR',
      contact_id: 'VARCHAR',
      engagement_id: 'VARCHAR',
      direction: 'VARCHAR',
      purpose: 'VARCHAR',
      step: 'INTEGER',
      meaning: 'VARCHAR',
      segments: 'INTEGER',
      state: 'VARCHAR',
      reported: 'VARCHAR',
      attempt: 'INTEGER',
    },
    rowOf: messageChanges,
  },
} as const satisfies Readonly<Record<string, Stage>>

export type StageName = keyof typeof stagesByName

const stages: Readonly<Record<StageName, Stage>> = stagesByName

export const stageNames = Object.keys(stages) as ReadonlyArray<StageName>

/**
 * Rows of the stage `rows` are removed once the stage `erasure` has a row with the same id in the column `of`, but for
 * those of events that came later in the stream. No table shows them again, not even one as of a moment before the
 * erasure.
 */
export const erasures = [
  { rows: 'remark_made', erasure: 'remarks_erased', of: 'engagement_id' },
  { rows: 'contact_details', erasure: 'erased_contact_opt_changes', of: 'contact_id' },
  { rows: 'contact_opt_changes', erasure: 'erased_contact_opt_changes', of: 'contact_id' },
  { rows: 'lead_submitted', erasure: 'leads_erased', of: 'lead_id' },
  // The columns that stay are in `deliveries_erased`.
  { rows: 'delivery_due', erasure: 'deliveries_erased', of: 'delivery_id' },
] as const satisfies ReadonlyArray<{ readonly rows: StageName; readonly erasure: StageName; readonly of: string }>

export const stageColumns = (name: StageName): ReadonlyArray<readonly [name: string, type: ColumnType]> =>
  Object.entries({ ...stages[name].columns, ...always })

export const categoryOfStage = (name: StageName): Category => stages[name].category

/** What stands in a stage of an event: rows with a value for each of its columns. */
export const stagedRows = (
  name: StageName,
  event: RecordedEvent,
  { isPersonalShown }: { readonly isPersonalShown: boolean },
): ReadonlyArray<ReadonlyArray<Cell>> => {
  const { columns, personal, rowOf } = stages[name]
  const isHidden = (column: string): boolean => !isPersonalShown && personal?.has(column) === true
  const names = Object.keys({ ...columns, ...always })
  const recorded = { recorded_at: event.time, revision: event.revision }
  return [rowOf(event) ?? []].flat().map((row) => {
    const values: Row = { ...recorded, ...row }
    return names.map((column) => (isHidden(column) ? null : ((values[column] ?? null) as Cell)))
  })
}
