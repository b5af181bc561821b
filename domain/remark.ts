import { mapOf, NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, EngagementId, ActivityReportId } from './ids.js'
import { E, unreachable, type Either } from './prelude.js'
import { withReport } from './remembered-reports.js'

/** What somebody said of an activity. */
const Remark = t.type({ note: t.union([t.string, t.null]), properties: t.readonly(t.UnknownRecord) }, 'Remark')
export type Remark = t.TypeOf<typeof Remark>

const Concerned = t.type({ engagement_id: EngagementId, account_id: AccountId, contact_id: ContactId }, 'Concerned')

/** `RemarksErased` ends the stream of an engagement's remarks: those before it may be gone. */
export const RemarkEvent = t.union([
  eventOf('RemarkMade', t.intersection([Concerned, Remark, t.partial({ report_id: ActivityReportId })])),
  eventOf('RemarksErased', Concerned),
])
export type RemarkEvent = t.TypeOf<typeof RemarkEvent>

/** Ids and numbers only: its snapshot must not hold what was said. */
const RemarkState = t.type({
  erased: t.boolean,
  made: NaturalNumber,
  /** Of the newest reports that may be repeated, the revisions of their remarks. */
  reports: mapOf(ActivityReportId, NaturalNumber),
})
type RemarkState = t.TypeOf<typeof RemarkState>

export type RemarkCommand = {
  readonly engagementId: EngagementId
  readonly accountId: AccountId
  readonly contactId: ContactId
} & (
  | {
      readonly type: 'MakeRemark'
      readonly remark: Remark
      /** The same where the report is repeated; left out where nobody can tell. */
      readonly reportId?: ActivityReportId
    }
  | { readonly type: 'EraseRemarks' }
)

export type RemarkRefusal =
  /** Note and properties are more than an event can carry. */
  { readonly kind: 'activity-report-too-large' } | { readonly kind: 'remarks-erased' }

/** Of note and properties, in bytes of JSON: the event that carries them stands in the body of a delivery once more. */
export const largestReport = 32 * 1024

const evolve = (state: RemarkState, event: RemarkEvent): RemarkState => {
  switch (event.type) {
    case 'RemarkMade': {
      const { made, reports } = state
      const { report_id } = event.data
      const newest = report_id === undefined ? reports : withReport(reports, report_id, made)
      return { ...state, made: made + 1, reports: newest }
    }
    case 'RemarksErased':
      return { ...state, erased: true }
    default:
      return unreachable(event)
  }
}

const decide = (command: RemarkCommand, state: RemarkState): Either<RemarkRefusal, ReadonlyArray<RemarkEvent>> => {
  const { engagementId: engagement_id, accountId: account_id, contactId: contact_id } = command
  const concerned = { engagement_id, account_id, contact_id }
  switch (command.type) {
    case 'MakeRemark': {
      if (state.erased) return E.left({ kind: 'remarks-erased' })
      const { remark: made, reportId } = command
      if (reportId !== undefined && state.reports.has(reportId)) return E.right([])
      if (Buffer.byteLength(JSON.stringify(made)) > largestReport) return E.left({ kind: 'activity-report-too-large' })
      const report = reportId === undefined ? {} : { report_id: reportId }
      return E.right([{ type: 'RemarkMade', data: { ...concerned, ...made, ...report } }])
    }
    case 'EraseRemarks':
      return E.right(state.erased ? [] : [{ type: 'RemarksErased', data: concerned }])
    default:
      return unreachable(command)
  }
}

/** The revision of the remark that the command of this report has made, or had made before. */
export const revisionOf = ({ made, reports }: RemarkState, reportId: ActivityReportId | undefined): number =>
  (reportId === undefined ? undefined : reports.get(reportId)) ?? made - 1

/** The remarks of one engagement, under its id. */
export const remark: Decider<RemarkState, RemarkCommand, RemarkEvent, RemarkRefusal> = {
  category: 'remark',
  initial: { erased: false, made: 0, reports: new Map() },
  evolve,
  snapshot: { version: 1, codec: RemarkState },
  decide,
}
