import { sendsFrom, type AccountState } from '../../../domain/account.js'
import type { AccountId } from '../../../domain/ids.js'
import type { MessengerOutcome } from '../../../domain/messenger.js'
import type { Clock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import {
  sendingHold,
  holdCommandFor,
  type SendingHoldCommand,
  type SendingHoldState,
} from '../../../domain/sending-hold.js'
import type { Lease } from '../../subscriptions/leases.js'
import { recordWithRetry, type RetryPorts } from '../../subscriptions/retries/retried-command.js'

type Ports = RetryPorts & { readonly clock: Clock }

export type HoldPorts = Ports & {
  readonly currentAccount: (id: AccountId) => Promise<Either<StoreFailure, AccountState>>
}

/** By what the provider said of an attempt. Resolves with the hold of the sender; undefined where there is none. */
export const holdOrRelease = async (
  ports: HoldPorts,
  lease: Lease,
  outcome: MessengerOutcome,
  { accountId, from }: { readonly accountId: AccountId; readonly from: string | undefined },
): Promise<SendingHoldState['held']> => {
  const command = holdCommandFor(outcome, { accountId, saidBy: 'answer', at: ports.clock.now() })
  if (command === undefined) return undefined
  const owner = await ports.currentAccount(accountId)
  // Where the account can't be read nobody can tell what it sends from, and what was said counts.
  if (E.isRight(owner) && !sendsFrom(owner.right, from)) return undefined
  const done = await record(ports, lease, command)
  return done?.state.held
}

/**
 * Whether a message may be tried now: of a sender that is held one at a time is, as a probe, and another one may have
 * been quicker.
 */
export const mayAttempt = async (
  ports: Ports,
  lease: Lease,
  accountId: AccountId,
  isHeld: boolean,
): Promise<boolean> => {
  if (!isHeld) return true
  const done = await record(ports, lease, { type: 'ProbeSender', accountId, at: ports.clock.now() })
  return done !== undefined && done.events.length > 0
}

const record = (ports: Ports, lease: Lease, command: SendingHoldCommand) =>
  recordWithRetry(ports, { actor: 'follow-up', lease }, sendingHold, command.accountId, command)
