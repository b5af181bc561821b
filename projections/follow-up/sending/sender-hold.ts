import { sendsFrom, type AccountState } from '../../../domain/account.js'
import type { AccountId } from '../../../domain/ids.js'
import type { Clock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { sender, type SenderCommand, type SenderState } from '../../../domain/sender.js'
import type { Lease } from '../../subscriptions/leases.js'
import { recordWithRetry, type RetryPorts } from '../../subscriptions/retries/retried-command.js'

type Ports = RetryPorts & { readonly clock: Clock }

export type HoldPorts = Ports & {
  readonly currentAccount: (id: AccountId) => Promise<Either<StoreFailure, AccountState>>
}

/** The account may send from somewhere else by now. Where nobody can tell, what the provider said counts. */
const isCurrent = async ({ currentAccount }: HoldPorts, id: AccountId, from: string | undefined): Promise<boolean> => {
  const owner = await currentAccount(id)
  return E.isLeft(owner) || sendsFrom(owner.right, from)
}

type Blocked = { readonly accountId: AccountId; readonly from: string | undefined; readonly reason: string }

/** The provider blocks the sender of an account: its messages wait. Undefined where it is not held. */
export const holdSender = async (
  ports: HoldPorts,
  lease: Lease,
  { accountId, from, reason }: Blocked,
): Promise<SenderState['held']> => {
  if (!(await isCurrent(ports, accountId, from))) return undefined
  const at = ports.clock.now()
  const done = await record(ports, lease, { type: 'HoldSender', accountId, reason, saidBy: 'answer', at })
  return done?.state.held
}

/**
 * Whether a message may be tried now: of a sender that is held one at a time is, as a probe, and another one may have
 * been quicker.
 */
export const mayTry = async (ports: Ports, lease: Lease, accountId: AccountId, isHeld: boolean): Promise<boolean> => {
  if (!isHeld) return true
  const done = await record(ports, lease, { type: 'ProbeSender', accountId, at: ports.clock.now() })
  return done !== undefined && done.events.length > 0
}

/** A message got through. */
export const releaseSender = async (
  ports: HoldPorts,
  lease: Lease,
  accountId: AccountId,
  from: string | undefined,
): Promise<void> => {
  if (!(await isCurrent(ports, accountId, from))) return
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
