import { ActivityLabel, ActivityType, labelsOf } from '../../../domain/activity.js'
import { decode, optional, t } from '../../../domain/codec.js'
import { engagement } from '../../../domain/engagement.js'
import { EngagementId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid } from '../../http/problem.js'
import { accountOf, type Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const ReportRequest = t.type({
  type: ActivityType,
  label: ActivityLabel,
  note: optional(t.string),
  properties: optional(t.UnknownRecord),
})

/** What a telephony system or a member reports about a conversation (design, sections 6 and 8). */
export const engagementEndpoints = ({
  commandHandler,
  commands,
  clock,
}: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/engagements/:engagement_id/activities',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const engagementId = request.params['engagement_id']
      if (!EngagementId.is(engagementId)) return E.left({ kind: 'engagement-not-found' })
      const body = decode(ReportRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { type, label, note, properties } = body.right
      if (!(labelsOf[type] as ReadonlyArray<string>).includes(label)) {
        return E.left({ kind: 'invalid', messages: [`label must be one of the labels of the type ${type}`] })
      }
      const command = {
        type: 'RecordActivity',
        accountId: found.right.accountId,
        activityType: type,
        label,
        note: note ?? null,
        properties: properties ?? {},
        at: clock.now(),
      } as const
      const recorded = await commands.execute(engagement, engagementId, command, actor)
      if (E.isLeft(recorded)) return recorded
      const [first] = recorded.right.events
      const at = first?.type === 'ActivityRecorded' ? first.data.activity.at : command.at
      const activity = { type, label, next_engagement_id: engagementId, created_at: at }
      return E.right({ status: 201, body: { activity } })
    },
  },
]
