import { account, type AccountState } from '../../domain/account.js'
import type { AccountSecret } from '../../domain/derived-id.js'
import type { AccountId } from '../../domain/ids.js'
import type { StoreFailure, Vault } from '../../domain/ports.js'
import { E, flow, pipe, TE, type Either, type TaskEither } from '../../domain/prelude.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import { idsInApiKey, isHashOf, type NamedIds } from '../http/api-key.js'
import { bearerOf, type Request, type Surface } from '../http/endpoint.js'
import { unopenableSecret, type Problem } from '../http/problem.js'
import type { RateLimit } from '../http/rate-limit.js'
import { check } from '../http/steps.js'

/** The account that an API key opens, and nothing else (contract 5). */
export type Caller = {
  readonly accountId: AccountId
  readonly secret: AccountSecret
  readonly hasErasures: boolean
  readonly actor: string
}

const wrongKey: Problem = { kind: 'forbidden', message: 'the API key is missing or wrong' }
const disabled: Problem = { kind: 'forbidden', message: 'the account is not enabled for this version' }

type CallerPorts = { readonly currentStates: CurrentStates; readonly vault: Vault; readonly rateLimit: RateLimit }

/** 403 for a missing or wrong key and for an account that is not enabled (contract 5, rules 1 and 2). */
export const callerOf = ({ currentStates, vault, rateLimit }: CallerPorts): Surface<Caller>['authenticate'] =>
  flow(
    TE.bindW('key', ({ request }) => TE.fromEither(keyIn(request))),
    TE.bindW('opened', ({ key }) => openedBy(currentStates, key)),
    check(({ key, opened }) => rateLimit.consume(key.apiKeyId, opened.limitPerMinute)),
    TE.bindW('secret', ({ opened }) => secretOf(vault, opened.account)),
    TE.map(({ key, opened: { account }, secret }) => ({
      accountId: key.accountId,
      secret,
      hasErasures: account.hasErasures,
      actor: key.apiKeyId,
    })),
  )

type Key = NamedIds & { readonly apiKey: string }

const keyIn = (request: Request): Either<Problem, Key> => {
  const apiKey = bearerOf(request) ?? ''
  const ids = idsInApiKey(apiKey)
  return ids === undefined ? E.left(wrongKey) : E.right({ ...ids, apiKey })
}

type OpenAccount = Extract<AccountState, { readonly kind: 'open' }>
type Opened = { readonly account: OpenAccount; readonly limitPerMinute: number | null }

const openedBy =
  (currentStates: CurrentStates, { apiKey, accountId, apiKeyId }: Key): TaskEither<Problem, Opened> =>
  async () => {
    const isOpenTo = (state: AccountState): boolean =>
      state.kind === 'open' && state.enabled && state.apiKeys.has(apiKeyId)
    const found: Either<StoreFailure, AccountState> = await currentStates.get(account, accountId, isOpenTo)
    if (E.isLeft(found)) return found
    const state = found.right
    const known = state.kind === 'open' ? state.apiKeys.get(apiKeyId) : undefined
    if (state.kind !== 'open' || known === undefined || !isHashOf(apiKey, known.secretHash)) return E.left(wrongKey)
    if (!state.enabled) return E.left(disabled)
    return E.right({ account: state, limitPerMinute: known.limitPerMinute })
  }

const secretOf = (vault: Vault, { sealedSecret }: OpenAccount): TaskEither<Problem, AccountSecret> =>
  pipe(
    TE.fromEither(vault.accountSecret(sealedSecret)),
    TE.mapLeft(() => unopenableSecret),
  )
