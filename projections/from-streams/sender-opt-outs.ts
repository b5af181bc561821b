import type { OwnSender } from '../../domain/account.js'
import { senderOptOutIdOf } from '../../domain/derived-id.js'
import type { Phone } from '../../domain/phone.js'
import type { CommandHandler, StoreFailure, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'

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
