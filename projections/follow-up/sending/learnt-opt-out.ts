import { contact } from '../../../domain/contact.js'
import type { Position } from '../../../domain/event.js'
import type { MessageIds } from '../../../domain/message.js'
import type { Lease } from '../../subscriptions/leases.js'
import { recordedPosition, type RetryPorts } from '../../subscriptions/retries/retried-command.js'

/**
 * The account learns that a contact opted out of its sender before it wrote from it. By the reactions to that all that
 * is open ends.
 */
export const learnOptOut = async (
  ports: RetryPorts,
  lease: Lease,
  { contact_id, engagement_id }: Pick<MessageIds, 'contact_id' | 'engagement_id'>,
): Promise<Position | undefined> => {
  const optOut = { type: 'OptOut', engagementId: engagement_id } as const
  return recordedPosition(ports, { actor: 'follow-up', lease }, contact, contact_id, optOut)
}
