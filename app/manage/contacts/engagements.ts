import { ActivityLabel, ActivityType, typeOf } from '../../../domain/activity.js'
import { optional, t } from '../../../domain/codec.js'
import { engagement } from '../../../domain/engagement.js'
import type { Recorded } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import { EngagementId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { flow } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, check, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const ReportRequest = t.type({
  type: ActivityType,
  label: ActivityLabel,
  note: optional(t.string),
  properties: optional(t.UnknownRecord),
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
      check(({ body }) => labelProblem(body)),
      execute(({ account: { accountId }, engagement_id, body: { label, note, properties }, caller }) => {
        const what = { label, note: note ?? null, properties: properties ?? {} }
        const command = { type: 'RecordActivity', accountId, ...what, at: ports.clock.now() } as const
        return ports.clientCommands.execute(engagement, engagement_id, command, caller.actor)
      }),
      answer(201, ({ body: { type, label }, engagement_id, result }) => ({
        activity: { type, label, next_engagement_id: engagement_id, created_at: timeIn(result.events) },
      })),
    ),
  },
]

/** The label decides the type, which the caller names too. */
const labelProblem = ({ type, label }: ReportRequest): Problem | undefined =>
  type === typeOf(label)
    ? undefined
    : { kind: 'invalid', messages: [`label must be one of the labels of the type ${type}`] }

/** The time of the activity that was recorded: later than any before it in its engagement. */
const timeIn = ([first]: ReadonlyArray<Recorded<DomainEvent>>): Instant | undefined =>
  first?.type === 'ActivityRecorded' ? first.data.activity.at : undefined
