import { account, type AccountState } from '../../domain/account.js'
import { AccountId } from '../../domain/ids.js'
import { flow } from '../../domain/prelude.js'
import { ownState } from '../commands/states/own-state.js'
import type { Problem } from '../http/problem.js'
import { bind, pathId, type HasRequest } from '../http/steps.js'
import type { ManagePorts } from './ports.js'

export type OpenAccount = Extract<AccountState, { readonly kind: 'open' }>

const notFound: Problem = { kind: 'account-not-found' }

/** Adds the open `account` that the path names. */
export const withAccount = <Context extends HasRequest>({ commandHandler }: Pick<ManagePorts, 'commandHandler'>) =>
  flow(
    pathId<Context, 'account_id', AccountId>('account_id', AccountId, notFound),
    bind('account', ({ account_id }) => ownState(commandHandler, account, account_id, open, notFound)),
  )

const open = (state: AccountState): OpenAccount | undefined => (state.kind === 'open' ? state : undefined)
