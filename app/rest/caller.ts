import { account, type AccountState, type OpenAccount } from '../../domain/account.js'
import type { AccountSecret } from '../../domain/derived-id.js'
import type { AccountId, ApiKeyId } from '../../domain/ids.js'
import type { StoreFailure, Vault } from '../../domain/ports.js'
import { E, flow, type Either, type TaskEither } from '../../domain/prelude.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import { idsInApiKey, isHashOf } from '../http/api-key.js'
import { bearerOf, type Surface } from '../http/endpoint.js'
import { unopenableSecret, type Problem } from '../http/problem.js'
import type { RateLimit } from '../http/rate-limit.js'
import { chain, check } from '../http/steps.js'

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
    chain(({ request }) => accountOpenedBy(currentStates, bearerOf(request) ?? '')),
    check(({ apiKeyId, limitPerMinute }) => rateLimit.consume(apiKeyId, limitPerMinute)),
    chain((opened) => callerOn(vault, opened)),
  )

type Opened = {
  readonly account: OpenAccount
  readonly apiKeyId: ApiKeyId
  readonly limitPerMinute: number | null
}

const accountOpenedBy =
  (currentStates: CurrentStates, apiKey: string): TaskEither<Problem, Opened> =>
  async () => {
    const ids = idsInApiKey(apiKey)
    if (ids === undefined) return E.left(wrongKey)
    const { accountId, apiKeyId } = ids
    const isOpenTo = (state: AccountState): boolean =>
      state.kind === 'open' && state.enabled && state.apiKeys.has(apiKeyId)
    const found: Either<StoreFailure, AccountState> = await currentStates.get(account, accountId, isOpenTo)
    if (E.isLeft(found)) return found
    const state = found.right
    const known = state.kind === 'open' ? state.apiKeys.get(apiKeyId) : undefined
    if (state.kind !== 'open' || known === undefined || !isHashOf(apiKey, known.secretHash)) return E.left(wrongKey)
    if (!state.enabled) return E.left(disabled)
    return E.right({ account: state, apiKeyId, limitPerMinute: known.limitPerMinute })
  }

const callerOn = (
  vault: Vault,
  { account: { accountId, sealedSecret, hasErasures }, apiKeyId: actor }: Opened,
): Either<Problem, Caller> => {
  const secret = vault.accountSecret(sealedSecret)
  return E.isLeft(secret) ? E.left(unopenableSecret) : E.right({ accountId, secret: secret.right, hasErasures, actor })
}
