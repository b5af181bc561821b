import { contact, hasOptedIn } from '../../../domain/contact.js'
import { contactIdOf, type AccountSecret } from '../../../domain/derived-id.js'
import type { Phone } from '../../../domain/phone.js'
import type { CommandHandler, StoreFailure } from '../../../domain/ports.js'
import { E, type TaskEither } from '../../../domain/prelude.js'
import type { CurrentContact } from '../../../domain/submission.js'
import { loadState } from './current-states.js'

type Owner = { readonly secret: AccountSecret; readonly hasErasures: boolean }

/**
 * The contact of a number, or the one that its first lead would make. It reads streams only in accounts that have
 * erased contacts.
 */
export const currentContact =
  (
    handler: Pick<CommandHandler, 'load'>,
    { secret, hasErasures }: Owner,
    phone: Phone,
  ): TaskEither<StoreFailure, CurrentContact> =>
  async () => {
    let current: CurrentContact = { id: contactIdOf(secret, phone), optedOutBefore: false }
    if (!hasErasures) return E.right(current)
    for (;;) {
      const loaded = await loadState(handler, contact, current.id)
      if (E.isLeft(loaded)) return loaded
      if (loaded.right.kind !== 'erased')
        return E.right(hasOptedIn(loaded.right) ? { ...current, optedOutBefore: false } : current)
      const { erasureId, optedOut: optedOutBefore } = loaded.right
      current = { id: contactIdOf(secret, phone, erasureId), optedOutBefore }
    }
  }
