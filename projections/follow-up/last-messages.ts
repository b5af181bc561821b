import { stepMessageIdOf } from '../../domain/derived-id.js'
import type { StartedEngagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { MessageId } from '../../domain/ids.js'
import { message } from '../../domain/message.js'
import type { Lease } from '../subscriptions/leases.js'
import { loadOrThrow } from '../subscriptions/retries/failed-for-good.js'
import { recordedPosition } from '../subscriptions/retries/retried-command.js'
import { partiesOf, type PartiesPorts } from './sending/parties.js'
import { settleMessage, type SendingPorts } from './sending/attempt.js'

/**
 * Closes a message of an engagement that has ended: one that waits for its next attempt is withdrawn, and an attempt
 * that nobody recorded is settled, since the provider may have taken it. Resolves with the position of the record, or
 * with undefined where there was none.
 * @throws FailedForGood, and where a store fails
 */
export const closeLastMessage = async (
  ports: SendingPorts & PartiesPorts,
  lease: Lease,
  { attribution, followUp }: StartedEngagement,
): Promise<Position | undefined> => {
  const { engagement_id, account_id, contact_id } = attribution
  // The newest first: it is nearly always the one.
  for (let step = (followUp?.begun ?? 0) - 1; step >= 0; step -= 1) {
    const message_id = stepMessageIdOf(engagement_id, step)
    const { state } = await loadOrThrow(ports.commandHandler, message, message_id)
    if (state.kind === 'waiting') return withdrawMessage(ports, lease, message_id, 'the engagement has ended')
    if (state.kind === 'sending') {
      const { to } = await partiesOf(ports, attribution)
      const facts = { message_id, account_id, contact_id, engagement_id, step }
      return to === undefined ? undefined : settleMessage(ports, { facts, to, lease, after: undefined })
    }
  }
  return undefined
}

/**
 * Nobody tries it again.
 * @throws FailedForGood, and where a store fails
 */
export const withdrawMessage = async (
  ports: SendingPorts,
  lease: Lease,
  id: MessageId,
  reason: string,
): Promise<Position | undefined> => {
  const withdraw = { type: 'WithdrawMessage', kind: 'withdrawn', reason } as const
  return recordedPosition(ports, { actor: 'follow-up', lease }, message, id, withdraw)
}
