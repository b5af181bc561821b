import { account, type AccountState } from '../../domain/account.js'
import { AccountId } from '../../domain/ids.js'
import { E, type Either } from '../../domain/prelude.js'
import { loadState } from '../commands/states/current-states.js'
import type { Request } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import { bind, type HasRequest } from '../http/steps.js'
import type { ManagePorts } from './ports.js'

export type OpenAccount = Extract<AccountState, { readonly kind: 'open' }>

/** Adds the open `account` that the path names. */
export const withAccount = <Context extends HasRequest>({ commandHandler }: Pick<ManagePorts, 'commandHandler'>) =>
  bind('account', ({ request }: Context) => accountOf(commandHandler, request))

const notFound: Problem = { kind: 'account-not-found' }

export const accountOf = async (
  commandHandler: ManagePorts['commandHandler'],
  { params }: Request,
): Promise<Either<Problem, OpenAccount>> => {
  const id = params['account_id']
  if (!AccountId.is(id)) return E.left(notFound)
  const found = await loadState(commandHandler, account, id)
  if (E.isLeft(found)) return found
  return found.right.kind === 'open' ? E.right(found.right) : E.left(notFound)
}
