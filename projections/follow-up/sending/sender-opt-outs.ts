import type { OwnSender } from '../../../domain/account.js'
import { contact } from '../../../domain/contact.js'
import { senderOptOutIdOf } from '../../../domain/derived-id.js'
import type { Position } from '../../../domain/event.js'
import type { MessageIds } from '../../../domain/message.js'
import type { Phone } from '../../../domain/phone.js'
import type { CommandHandler, StoreFailure, Vault } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { senderOptOut } from '../../../domain/sender-opt-out.js'
import type { Lease } from '../../subscriptions/leases.js'
import { positionOf, recordWithRetry, type RetryPorts } from '../../subscriptions/retries/retried-command.js'

/** Who opted out of which sender, whichever account it wrote for. */
export type SenderOptOuts = {
  /** `own`: what an account sends from; null: what the accounts share. It reads one short stream. */
  readonly includes: (own: OwnSender | null, phone: Phone) => Promise<Either<StoreFailure, boolean>>
}

type Ports = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly vault: Pick<Vault, 'serviceSecret'>
  /** As the provider calls it; undefined: nothing leaves the service, so nobody can opt out of it. */
  readonly sharedSender: string | undefined
}

export const senderOptOuts = ({ commandHandler, vault, sharedSender }: Ports): SenderOptOuts => ({
  includes: async (own, phone) => {
    const sender = own?.from ?? sharedSender
    if (sender === undefined) return E.right(false)
    const loaded = await commandHandler.load(senderOptOut, senderOptOutIdOf(vault.serviceSecret, sender, phone))
    return E.isLeft(loaded) ? loaded : E.right(loaded.right.state.optedOut)
  },
})

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
  return positionOf(await recordWithRetry(ports, { actor: 'follow-up', lease }, contact, contact_id, optOut))
}
