import type { ActivityLabel } from '../../../domain/activity.js'
import {
  engagement,
  type Attribution,
  type EngagementRefusal,
  type EngagementState,
} from '../../../domain/engagement.js'
import type { AccountId, EngagementId, ActivityReportId } from '../../../domain/ids.js'
import type { Contended, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Instant } from '../../../domain/instant.js'
import { remark, revisionOf, type Remark, type RemarkRefusal } from '../../../domain/remark.js'
import type { ClientResult } from '../../commands/client-commands.js'
import type { ManagePorts } from '../ports.js'

/** What is reported: an activity, and what is said of it. */
type ActivityReport = {
  readonly accountId: AccountId
  readonly engagementId: EngagementId
  readonly label: ActivityLabel
  readonly said: Remark
  readonly reportId?: ActivityReportId
  /** Of a call that is scheduled. */
  readonly callUntil?: Instant
}

type Failure = EngagementRefusal | RemarkRefusal | StoreFailure | Contended

type Ports = Pick<ManagePorts, 'commandHandler' | 'clientCommands' | 'clock' | 'ids'>

/**
 * Records a reported activity. What is said of it is written first, into the stream of the engagement's remarks, which
 * can be erased, and nothing is written of a report that is refused. Where a crash comes between the two, the remark
 * belongs to nothing; the report, repeated under its `Idempotency-Key`, finds it there.
 */
export const recordReport = async (
  ports: Ports,
  { accountId, engagementId, label, said, callUntil, ...report }: ActivityReport,
  actor: string,
): Promise<Either<Failure, ClientResult<EngagementState>>> => {
  const { commandHandler, clientCommands, clock } = ports
  const held = callUntil === undefined ? {} : { callUntil }
  const command = { type: 'RecordActivity', accountId, label, at: clock.now(), ...held, ...report } as const
  if (isNothing(said)) return clientCommands.execute(engagement, engagementId, command, actor)

  const loaded = await commandHandler.load(engagement, engagementId)
  if (E.isLeft(loaded)) return loaded
  const { state } = loaded.right
  const decided = engagement.decide(command, state)
  if (E.isLeft(decided)) return decided
  if (decided.right.length === 0 || state.kind === 'unknown')
    return clientCommands.execute(engagement, engagementId, command, actor)

  const made = await makeRemark(ports, state.attribution, { remark: said, ...report }, actor)
  if (E.isLeft(made)) return made
  const done = { ...command, remark: made.right }
  return clientCommands.execute(engagement, engagementId, done, actor, loaded.right)
}

const isNothing = ({ note, properties }: Remark): boolean => note === null && Object.keys(properties).length === 0

/** Gives the revision of the remark: of the one that was made before, where the report is repeated. */
const makeRemark = async (
  { commandHandler, ids }: Ports,
  { engagement_id: engagementId, account_id: accountId, contact_id: contactId }: Attribution,
  what: { readonly remark: Remark; readonly reportId?: ActivityReportId },
  actor: string,
): Promise<Either<RemarkRefusal | StoreFailure | Contended, number>> => {
  const command = { type: 'MakeRemark', engagementId, accountId, contactId, ...what } as const
  const done = await commandHandler.execute(remark, engagementId, command, { actor, eventId: ids.uuid })
  if (E.isLeft(done)) return done
  return E.right(revisionOf(done.right.state, what.reportId))
}
