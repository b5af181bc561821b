import { Activity, typeOf, type ActivityLabel } from './activity.js'
import { NaturalNumber, t } from './codec.js'
import type { ConversionLabel } from './conversion.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, EngagementId, LeadId, PlaybookId, RecordId, ActivityReportId, SourceId } from './ids.js'
import { Instant, strictlyAfter } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { ResidenceState } from './residence-state.js'

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

/**
 * `record_id` ties an activity to the conversion record it stands for, `report_id` to the repeatable activity report that it was, `remark`, a
 * revision in the stream of the engagement's remarks, to what was said of it. Of older versions the activity itself holds that.
 */
export const EngagementEvent = t.union([
  /** `submitted_at` and `state`, where it lives, are of the lead. Older versions wrote neither. */
  eventOf(
    'EngagementStarted',
    t.intersection([Attribution, t.partial({ submitted_at: Instant, state: ResidenceState })]),
  ),
  eventOf(
    'ActivityRecorded',
    t.intersection([
      t.type({ activity: Activity, record_id: t.union([RecordId, t.null]) }),
      t.partial({ report_id: ActivityReportId, remark: NaturalNumber }),
    ]),
  ),
  /** `reason`: the outcome's label, `conversion`, `erased`, or `superseded`: the contact has too many newer engagements. */
  eventOf('EngagementEnded', t.type({ engagement_id: EngagementId, reason: t.string, ended_at: Instant })),
  /** Its contact was erased: nothing more is recorded of it. */
  eventOf('EngagementErased', t.type({ engagement_id: EngagementId })),
])
export type EngagementEvent = t.TypeOf<typeof EngagementEvent>

type Reported = Pick<Activity, 'label' | 'at'>

export type EngagementState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'started'
      readonly attribution: Attribution
      readonly ended: boolean
      readonly erased: boolean
      readonly lastActivityAt: Instant | undefined
      readonly records: ReadonlyArray<RecordId>
      /** What was recorded of the newest reports that may be repeated. */
      readonly reports: ReadonlyMap<ActivityReportId, Reported>
    }

export type EngagementCommand =
  | {
      readonly type: 'StartEngagement'
      readonly attribution: Attribution
      readonly submittedAt: Instant
      /** Where the lead lives. */
      readonly state?: ResidenceState
      readonly engagedAt: Instant
      readonly filtered: boolean
    }
  | {
      readonly type: 'RecordActivity'
      readonly accountId: AccountId
      readonly label: ActivityLabel
      readonly at: Instant
      /** The same where the report is repeated; left out where nobody can tell. */
      readonly reportId?: ActivityReportId
      /** Where what was said of it stands among the remarks of the engagement. */
      readonly remark?: number
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
  | { readonly type: 'EraseEngagement'; readonly at: Instant }

export type EngagementRefusal =
  | { readonly kind: 'engagement-not-found' }
  | { readonly kind: 'engagement-ended' }
  /** The label is fired by the service itself and can't be reported. */
  | { readonly kind: 'label-not-reportable' }

/** A repetition follows what it repeats within minutes: what is remembered of reports must not grow with its engagement. */
const rememberedReports = 100

const withReport = (
  reports: ReadonlyMap<ActivityReportId, Reported>,
  id: ActivityReportId,
  reported: Reported,
): ReadonlyMap<ActivityReportId, Reported> => new Map([...reports, [id, reported] as const].slice(-rememberedReports))

const evolve = (state: EngagementState, event: EngagementEvent): EngagementState => {
  if (event.type === 'EngagementStarted') {
    return {
      kind: 'started',
      attribution: attributionIn(event.data),
      ended: false,
      erased: false,
      lastActivityAt: undefined,
      records: [],
      reports: new Map(),
    }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'ActivityRecorded': {
      const { activity, record_id, report_id } = event.data
      const { label, at } = activity
      const records = record_id === null ? state.records : [...state.records, record_id]
      const reports = report_id === undefined ? state.reports : withReport(state.reports, report_id, { label, at })
      return { ...state, lastActivityAt: at, records, reports }
    }
    case 'EngagementEnded':
      return { ...state, ended: true }
    case 'EngagementErased':
      return { ...state, erased: true }
    default:
      return unreachable(event)
  }
}

const attributionIn = (started: Attribution): Attribution => {
  const { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id } = started
  return { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id }
}

const decide = (
  command: EngagementCommand,
  state: EngagementState,
): Either<EngagementRefusal, ReadonlyArray<EngagementEvent>> => {
  if (command.type === 'StartEngagement') return E.right(state.kind === 'started' ? [] : start(command))
  if (state.kind === 'unknown')
    return command.type === 'EraseEngagement' ? E.right([]) : E.left({ kind: 'engagement-not-found' })
  const { attribution } = state
  switch (command.type) {
    case 'RecordActivity': {
      if (attribution.account_id !== command.accountId || state.erased) return E.left({ kind: 'engagement-not-found' })
      const { label, reportId, remark } = command
      if (reportId !== undefined && state.reports.has(reportId)) return E.right([])
      if (!isReportable(label)) return E.left({ kind: 'label-not-reportable' })
      const isOutcome = typeOf(label) === 'outcome'
      // A contact that opts out is heard, even where the engagement has ended.
      if (isOutcome && label !== 'opted_out' && state.ended) return E.left({ kind: 'engagement-ended' })
      const at = strictlyAfter(state.lastActivityAt, command.at)
      const what = { label, note: null, properties: {}, at }
      const activity = recorded(attribution, what, null, {
        ...(reportId === undefined ? {} : { report_id: reportId }),
        ...(remark === undefined ? {} : { remark }),
      })
      return E.right(isOutcome && !state.ended ? [activity, ended(attribution, label, at)] : [activity])
    }
    case 'RecordConversionActivity': {
      const { recordId, label, title, ends } = command
      if (state.erased || state.records.includes(recordId)) return E.right([])
      const at = strictlyAfter(state.lastActivityAt, command.at)
      const properties = label === 'custom_conversion' ? { title } : {}
      const note = `${title} was recorded`
      const activity = recorded(attribution, { label, note, properties, at }, recordId)
      return E.right(ends && !state.ended ? [activity, ended(attribution, 'conversion', at)] : [activity])
    }
    case 'EndEngagement':
      return E.right(state.ended ? [] : [ended(attribution, command.reason, command.at)])
    case 'EraseEngagement': {
      if (state.erased) return E.right([])
      const { engagement_id } = attribution
      const erased: EngagementEvent = { type: 'EngagementErased', data: { engagement_id } }
      return E.right(state.ended ? [erased] : [ended(attribution, 'erased', command.at), erased])
    }
    default:
      return unreachable(command)
  }
}

const start = (
  command: Extract<EngagementCommand, { readonly type: 'StartEngagement' }>,
): ReadonlyArray<EngagementEvent> => {
  const { attribution, submittedAt, state, engagedAt: at, filtered } = command
  const lead = { submitted_at: submittedAt, ...(state === undefined ? {} : { state }) }
  const started: EngagementEvent = { type: 'EngagementStarted', data: { ...attribution, ...lead } }
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
  report: { readonly report_id?: ActivityReportId; readonly remark?: number } = {},
): EngagementEvent => ({
  type: 'ActivityRecorded',
  data: {
    activity: { ...attribution, type: typeOf(what.label), ...what },
    record_id: recordId,
    ...report,
  },
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
