import { stateOf } from '../commands/states/current-states.js'
import { createHash, timingSafeEqual } from 'node:crypto'
import { account, type AccountState } from '../../domain/account.js'
import { AccountId } from '../../domain/ids.js'
import type { CommandHandler } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { bearerOf } from '../http/bearer.js'
import type { Request } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'

/** Who holds the operator key: sees every account. */
export type Operator = { readonly actor: 'operator' }

const wrongKey: Problem = { kind: 'forbidden', message: 'the operator key is missing or wrong' }

export const operatorOf =
  (operatorKey: string) =>
  (request: Request): Promise<Either<Problem, Operator>> => {
    const isOperator = timingSafeEqual(digest(bearerOf(request) ?? ''), digest(operatorKey))
    return Promise.resolve(isOperator ? E.right({ actor: 'operator' }) : E.left(wrongKey))
  }

/** Digests have one length, so that comparing them tells nothing about the key's. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export type OpenAccount = Extract<AccountState, { readonly kind: 'open' }>

/** The account that the path names. */
export const accountOf = async (
  commandHandler: CommandHandler,
  request: Request,
): Promise<Either<Problem, OpenAccount>> => {
  const id = request.params['account_id']
  if (!AccountId.is(id)) return E.left({ kind: 'account-not-found' })
  const found = await stateOf(commandHandler, account, id)
  if (E.isLeft(found)) return found
  return found.right.kind === 'open' ? E.right(found.right) : E.left({ kind: 'account-not-found' })
}
