import type { AccountId } from '../../../domain/ids.js'
import { sendingHold } from '../../../domain/sending-hold.js'
import type { Lease } from '../../subscriptions/leases.js'
import { recordWithRetry, type RetryPorts } from '../../subscriptions/retries/retried-command.js'

type Reached = { readonly accountId: AccountId; readonly month: string; readonly segmentsPerMonth: number }

/** So that the account's people are told once. */
export const reachSegmentLimit = async (ports: RetryPorts, lease: Lease, reached: Reached): Promise<void> => {
  const command = { type: 'ReachSegmentLimit', ...reached } as const
  await recordWithRetry(ports, { actor: 'follow-up', lease }, sendingHold, reached.accountId, command)
}
