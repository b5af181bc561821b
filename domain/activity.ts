import { oneOf, t } from './codec.js'
import { AccountId, ContactId, EngagementId, LeadId, PlaybookId, SourceId } from './ids.js'
import { Instant } from './instant.js'

const eventLabels = [
  'started',
  'interested',
  'phone_call_scheduled',
  'phone_call_started',
  'phone_call_connected',
  'phone_call_rep_attempted',
  'phone_call_transferred',
  'phone_call_transfer_failed',
  'phone_call_completed',
  'phone_call_missed',
  'phone_call_received',
] as const

const outcomeLabels = [
  'dormant',
  'opted_out',
  'filtered',
  'undeliverable',
  'qualified',
  'not_interested',
  'unqualified',
] as const

const conversionLabels = ['quoted', 'sold', 'link_clicked', 'custom_conversion'] as const

/**
 * What an activity is, and which labels it may carry (contract 6.4). A label may be added; one that was ever stored
 * stays for ever, since its events could not be decoded without it.
 */
export const labelsOf = { event: eventLabels, outcome: outcomeLabels, conversion: conversionLabels } as const

export type ActivityType = keyof typeof labelsOf
export type ActivityLabel = (typeof labelsOf)[ActivityType][number]

export const activityLabels: ReadonlyArray<ActivityLabel> = [...eventLabels, ...outcomeLabels, ...conversionLabels]

const types = Object.fromEntries(
  (['event', 'outcome', 'conversion'] as const).flatMap((type) => labelsOf[type].map((label) => [label, type])),
) as Readonly<Record<ActivityLabel, ActivityType>>

/** A label belongs to one type. */
export const typeOf = (label: ActivityLabel): ActivityType => types[label]

export const ActivityType: t.Type<ActivityType> = t.keyof(
  { event: null, outcome: null, conversion: null },
  'event, outcome or conversion',
)
export const ActivityLabel: t.Type<ActivityLabel> = oneOf(activityLabels, `one of ${activityLabels.join(', ')}`)

/** One thing that happened in an engagement (contract 2.4), with the ids that attribute it. */
export const Activity = t.type(
  {
    account_id: AccountId,
    contact_id: ContactId,
    lead_id: LeadId,
    source_id: SourceId,
    playbook_id: PlaybookId,
    engagement_id: EngagementId,
    type: ActivityType,
    label: ActivityLabel,
    note: t.union([t.string, t.null]),
    properties: t.readonly(t.UnknownRecord),
    at: Instant,
  },
  'Activity',
)
export type Activity = t.TypeOf<typeof Activity>
