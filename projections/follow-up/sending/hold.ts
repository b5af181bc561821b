import type { AccountId } from '../../../domain/ids.js'
import type { Clock } from '../../../domain/ports.js'
import { sender, type SenderCommand, type SenderState } from '../../../domain/sender.js'
import type { Lease } from '../../subscriptions/leases.js'
import { recordWithRetry, type RetryPorts } from '../../subscriptions/retried-command.js'

type Ports = RetryPorts & { readonly clock: Clock }

/** The provider blocks the sender of an account: its messages wait. Undefined where it is not held. */
export const holdSender = async (
  ports: Ports,
  lease: Lease,
  accountId: AccountId,
  reason: string,
): Promise<SenderState['held']> => {
  const at = ports.clock.now()
  const done = await record(ports, lease, { type: 'HoldSender', accountId, reason, saidBy: 'answer', at })
  return done?.state.held
}

/** Whether a message may be tried now: of a sender that is held one at a time is, as a probe, and another one may have been quicker. */
export const mayTry = async (ports: Ports, lease: Lease, accountId: AccountId, isHeld: boolean): Promise<boolean> => {
  if (!isHeld) return true
  const done = await record(ports, lease, { type: 'ProbeSender', accountId, at: ports.clock.now() })
  return done !== undefined && done.events.length > 0
}

/** A message got through. */
export const releaseSender = async (ports: Ports, lease: Lease, accountId: AccountId): Promise<void> => {
  await record(ports, lease, { type: 'ReleaseSender', accountId, saidBy: 'answer', at: ports.clock.now() })
}

/** So that the account's people are told once. */
export const reachSegmentLimit = async (
  ports: Ports,
  lease: Lease,
  { accountId, month, segmentsPerMonth }: Omit<Extract<SenderCommand, { readonly type: 'ReachSegmentLimit' }>, 'type'>,
): Promise<void> => {
  await record(ports, lease, { type: 'ReachSegmentLimit', accountId, month, segmentsPerMonth })
}

const record = (ports: Ports, lease: Lease, command: SenderCommand) =>
  recordWithRetry(ports, { actor: 'follow-up', lease }, sender, command.accountId, command)
