import { account, type AccountState } from '../../domain/account.js'
import type { AccountSecret } from '../../domain/derived-id.js'
import type { AccountId } from '../../domain/ids.js'
import type { StoreFailure, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import { idsInApiKey, isHashOf } from '../http/api-key.js'
import { bearerOf, type Request } from '../http/endpoint.js'
import { unopenableSecret, type Problem } from '../http/problem.js'
import type { RateLimit } from '../http/rate-limit.js'

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
export const callerOf =
  ({ currentStates, vault, rateLimit }: CallerPorts) =>
  async (request: Request): Promise<Either<Problem, Caller>> => {
    const apiKey = bearerOf(request) ?? ''
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
    const tooMany = rateLimit.consume(apiKeyId, known.limitPerMinute)
    if (tooMany !== undefined) return E.left(tooMany)
    const secret = vault.accountSecret(state.sealedSecret)
    if (E.isLeft(secret)) return E.left(unopenableSecret)
    return E.right({ accountId, secret: secret.right, hasErasures: state.hasErasures, actor: apiKeyId })
  }
