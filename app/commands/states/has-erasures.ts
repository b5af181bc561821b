import { account } from '../../../domain/account.js'
import type { AccountId } from '../../../domain/ids.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { CurrentStates } from './current-states.js'

/**
 * Whether a contact of the account was ever erased, as it was known within the last second.
 * @throws StoreFailed
 */
export const hasErasures =
  (currentStates: CurrentStates) =>
  async (id: AccountId): Promise<boolean> => {
    const state = orThrow(await currentStates.get(account, id, ({ kind }) => kind === 'open'))
    return state.kind === 'open' && state.hasErasures
  }
