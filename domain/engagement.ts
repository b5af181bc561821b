import { Activity, typeOf, type ActivityLabel } from './activity.js'
import { t } from './codec.js'
import type { ConversionLabel } from './conversion.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, EngagementId, LeadId, PlaybookId, RecordId, SourceId } from './ids.js'
import { Instant, strictlyAfter } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'

const Attribution = t.type(
  {
    engagement_id: EngagementId,
    account_id: AccountId,
    contact_id: ContactId,
    lead_id: LeadId,
    source_id: SourceId,
    playbook_id: PlaybookId,
  },
  'Attribution',
)
export type Attribution = t.TypeOf<typeof Attribution>

/** `record_id` ties an activity to the conversion record it stands for. */
export const EngagementEvent = t.union([
  eventOf('EngagementStarted', Attribution),
  eventOf('ActivityRecorded', t.type({ activity: Activity, record_id: t.union([RecordId, t.null]) })),
  /** `reason`: the outcome's label, `conversion`, or `superseded`: the contact has too many newer engagements. */
  eventOf('EngagementEnded', t.type({ engagement_id: EngagementId, reason: t.string, ended_at: Instant })),
])
export type EngagementEvent = t.TypeOf<typeof EngagementEvent>

type EngagementState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'started'
      readonly attribution: Attribution
      readonly ended: boolean
      readonly lastActivityAt: Instant | undefined
      readonly records: ReadonlyArray<RecordId>
    }

export type EngagementCommand =
  | {
      readonly type: 'StartEngagement'
      readonly attribution: Attribution
      readonly engagedAt: Instant
      readonly filtered: boolean
    }
  | {
      readonly type: 'RecordActivity'
      readonly accountId: AccountId
      readonly label: ActivityLabel
      readonly note: string | null
      readonly properties: Readonly<Record<string, unknown>>
      readonly at: Instant
    }
  | {
      readonly type: 'RecordConversionActivity'
      readonly recordId: RecordId
      readonly label: ConversionLabel
      readonly title: string
      readonly ends: boolean
      readonly at: Instant
    }
  | { readonly type: 'EndEngagement'; readonly reason: string; readonly at: Instant }

export type EngagementRefusal =
  | { readonly kind: 'engagement-not-found' }
  | { readonly kind: 'engagement-ended' }
  /** Note and properties are more than an event can carry. */
  | { readonly kind: 'report-too-large' }
  /** The label is fired by the service itself and can't be reported. */
  | { readonly kind: 'label-not-reportable' }

const evolve = (state: EngagementState, event: EngagementEvent): EngagementState => {
  if (event.type === 'EngagementStarted') {
    return { kind: 'started', attribution: event.data, ended: false, lastActivityAt: undefined, records: [] }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'ActivityRecorded': {
      const { activity, record_id } = event.data
      const records = record_id === null ? state.records : [...state.records, record_id]
      return { ...state, lastActivityAt: activity.at, records }
    }
    case 'EngagementEnded':
      return { ...state, ended: true }
    default:
      return unreachable(event)
  }
}

const decide = (
  command: EngagementCommand,
  state: EngagementState,
): Either<EngagementRefusal, ReadonlyArray<EngagementEvent>> => {
  if (command.type === 'StartEngagement') return E.right(state.kind === 'started' ? [] : start(command))
  if (state.kind === 'unknown') return E.left({ kind: 'engagement-not-found' })
  const { attribution } = state
  switch (command.type) {
    case 'RecordActivity': {
      if (attribution.account_id !== command.accountId) return E.left({ kind: 'engagement-not-found' })
      const { label, note, properties } = command
      if (!isReportable(label)) return E.left({ kind: 'label-not-reportable' })
      if (bytesOfJson({ note, properties }) > maximalReport) return E.left({ kind: 'report-too-large' })
      const isOutcome = typeOf(label) === 'outcome'
      // A contact that opts out is heard, even where the engagement has ended.
      if (isOutcome && label !== 'opted_out' && state.ended) return E.left({ kind: 'engagement-ended' })
      const at = strictlyAfter(state.lastActivityAt, command.at)
      const activity = recorded(attribution, { label, note, properties, at }, null)
      return E.right(isOutcome && !state.ended ? [activity, ended(attribution, label, at)] : [activity])
    }
    case 'RecordConversionActivity': {
      const { recordId, label, title, ends } = command
      if (state.records.includes(recordId)) return E.right([])
      const at = strictlyAfter(state.lastActivityAt, command.at)
      const properties = label === 'custom_conversion' ? { title } : {}
      const note = `${title} was recorded`
      const activity = recorded(attribution, { label, note, properties, at }, recordId)
      return E.right(ends && !state.ended ? [activity, ended(attribution, 'conversion', at)] : [activity])
    }
    case 'EndEngagement':
      return E.right(state.ended ? [] : [ended(attribution, command.reason, command.at)])
    default:
      return unreachable(command)
  }
}

/** Of note and properties, in bytes of JSON: the event that carries them stands in the body of a delivery once more. */
const maximalReport = 32 * 1024

const bytesOfJson = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const start = (
  command: Extract<EngagementCommand, { readonly type: 'StartEngagement' }>,
): ReadonlyArray<EngagementEvent> => {
  const { attribution, engagedAt: at, filtered } = command
  const started: EngagementEvent = { type: 'EngagementStarted', data: attribution }
  const properties = {}
  if (!filtered) {
    const note = 'The playbook started'
    return [started, recorded(attribution, { label: 'started', note, properties, at }, null)]
  }
  const note = 'The contact opted out before'
  const activity = recorded(attribution, { label: 'filtered', note, properties, at }, null)
  return [started, activity, ended(attribution, 'filtered', at)]
}

const recorded = (
  attribution: Attribution,
  what: Pick<Activity, 'label' | 'note' | 'properties' | 'at'>,
  recordId: RecordId | null,
): EngagementEvent => ({
  type: 'ActivityRecorded',
  data: { activity: { ...attribution, type: typeOf(what.label), ...what }, record_id: recordId },
})

const ended = (attribution: Attribution, reason: string, at: Instant): EngagementEvent => ({
  type: 'EngagementEnded',
  data: { engagement_id: attribution.engagement_id, reason, ended_at: at },
})

/** `started` and `filtered` fire when the playbook starts, quoted, sold and custom conversions when one is recorded. */
const isReportable = (label: ActivityLabel): boolean => !unreportable.has(label)

const unreportable: ReadonlySet<ActivityLabel> = new Set(['started', 'filtered', 'quoted', 'sold', 'custom_conversion'])

export const engagement: Decider<EngagementState, EngagementCommand, EngagementEvent, EngagementRefusal> = {
  category: 'engagement',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
