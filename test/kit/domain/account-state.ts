import { account, type OpenAccount } from '../../../domain/account.js'
import { fold } from '../../../domain/decider.js'
import { rightOf } from '../right-of.js'
import { openAccountCommand } from './samples.js'

const opened = fold(account, account.initial, rightOf(account.decide(openAccountCommand, account.initial)))

/** An account as it is read once it was opened, but for what is `changed`. */
export const openAccountState = (changed: Partial<OpenAccount> = {}): OpenAccount => ({
  ...(opened as OpenAccount),
  ...changed,
})
