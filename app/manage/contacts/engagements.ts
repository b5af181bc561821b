import type { OpenAccount } from '../../../domain/account.js'
import { ActivityLabel, ActivityType, typeOf } from '../../../domain/activity.js'
import { decode, objectWith, optional, refined, t } from '../../../domain/codec.js'
import { activityReportIdOf } from '../../../domain/derived-id.js'
import type { EngagementState } from '../../../domain/engagement.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { EngagementId, type ActivityReportId } from '../../../domain/ids.js'
import { InstantFromText, later, type Instant } from '../../../domain/instant.js'
import { E, flow, pipe, type Either } from '../../../domain/prelude.js'
import { furthestCall, longestCall } from '../../../domain/scheduled-call.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import { engagementsNotEnded, type Problem } from '../../http/problem.js'
import { answer, bind, check, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { recordReport } from './activity-report.js'
import { keyedId } from './keyed-id.js'

const Note = refined('a text', (value): value is string => typeof value === 'string')

const Properties = t.readonly(t.UnknownRecord, 'an object')

const ReportRequest = objectWith({
  type: ActivityType,
  label: ActivityLabel,
  note: optional(Note),
  properties: optional(Properties),
})
type ReportRequest = t.TypeOf<typeof ReportRequest>

/** What a telephony system or a member reports about an engagement. */
export const engagementEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/engagements/:engagement_id/activities',
    handle: flow(
      withAccount(ports),
      pathId('engagement_id', EngagementId, { kind: 'engagement-not-found' }),
      withBody(ReportRequest),
      check(({ body }) => labelProblem(body) ?? callProblem(body, ports.clock.now())),
      bind('reportId', ({ request, account, engagement_id }) => reportIdIn(ports, request, account, engagement_id)),
      execute(({ account: { accountId }, engagement_id, body: { label, note, properties }, reportId, caller }) => {
        const said = { note: note ?? null, properties: properties ?? {} }
        const report = {
          accountId,
          engagementId: engagement_id,
          label,
          said,
          ...callIn({ label, properties }),
          ...reportId,
        }
        return recordReport(ports, report, caller.actor)
      }),
      check(({ result, body: { label } }) =>
        result.isPending && label === 'opted_out' ? engagementsNotEnded : undefined,
      ),
      answer(
        ({ result }) => (result.events.length > 0 ? 201 : 200),
        ({ body, engagement_id, reportId, result: { state, events } }) => {
          const { label, at } = repeated(state, reportId) ?? { label: body.label, at: timeIn(events) }
          return { activity: { type: typeOf(label), label, next_engagement_id: engagement_id, created_at: at } }
        },
      ),
    ),
  },
]

/** For which time a call is scheduled (`properties.at`), if it is said. */
const callTime = ({ label, properties }: Pick<ReportRequest, 'label' | 'properties'>) =>
  decode(optional(InstantFromText), label === 'phone_call_scheduled' ? properties?.['at'] : undefined)

/** A call that is scheduled for a time holds the steps back until it is over. */
const callIn = (report: Pick<ReportRequest, 'label' | 'properties'>): { readonly callUntil?: Instant } => {
  const at = callTime(report)
  return E.isLeft(at) || at.right === undefined ? {} : { callUntil: later(at.right, longestCall) }
}

/**
 * A time that can't be read would let the steps go on before the call, and one that is years away would hold them for
 * as long.
 */
const callProblem = (report: ReportRequest, now: Instant): Problem | undefined => {
  const at = callTime(report)
  if (E.isLeft(at)) return { kind: 'invalid', messages: [`properties.at must be ${InstantFromText.name}`] }
  return at.right !== undefined && at.right > later(now, furthestCall)
    ? { kind: 'invalid', messages: ['properties.at must be at most a year from now'] }
    : undefined
}

/** What tells a repetition of an activity report, if anything. */
const reportIdIn = (
  ports: ManagePorts,
  request: Request,
  account: OpenAccount,
  engagementId: EngagementId,
): Either<Problem, { readonly reportId?: ActivityReportId }> =>
  pipe(
    keyedId(ports, request, account, (secret, key) => activityReportIdOf(secret, engagementId, key)),
    E.map((reportId) => (reportId === undefined ? {} : { reportId })),
  )

/** What was recorded of the activity report, the first time that it came. */
const repeated = (state: EngagementState, { reportId }: { readonly reportId?: ActivityReportId }) =>
  state.kind === 'started' && reportId !== undefined ? state.reports.get(reportId) : undefined

/** The label decides the type, which the caller names too. */
const labelProblem = ({ type, label }: ReportRequest): Problem | undefined =>
  type === typeOf(label)
    ? undefined
    : { kind: 'invalid', messages: [`label must be one of the labels of the type ${type}`] }

/** The time of the activity that was recorded: later than any before it in its engagement. */
const timeIn = ([first]: ReadonlyArray<RecordedEvent>): Instant | undefined =>
  first?.type === 'ActivityRecorded' ? first.data.activity.at : undefined
