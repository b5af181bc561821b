import { LRUCache } from 'lru-cache'
import { createHash, timingSafeEqual } from 'node:crypto'
import { account, type AccountState } from '../../domain/account.js'
import type { AccountSecret } from '../../domain/derived-id.js'
import { AccountId, ApiKeyId } from '../../domain/ids.js'
import type { Clock, StoreFailure, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import type { Request } from '../http/endpoint.js'
import type { RateLimit } from '../http/rate-limit.js'
import { bearerOf } from '../http/bearer.js'
import type { Problem } from '../http/problem.js'

/** The account that an API key opens, and nothing else (contract 5). */
export type Caller = { readonly accountId: AccountId; readonly secret: AccountSecret; readonly actor: string }

/** An API key names its account and itself, so that one stream tells whether it is good (design, section 3). */
export const apiKeyOf = (accountId: AccountId, apiKeyId: ApiKeyId, secret: string): string =>
  `${accountId}.${apiKeyId}.${secret}`

/** What is stored of an API key. */
export const apiKeyHash = (apiKey: string): string => createHash('sha256').update(apiKey).digest('base64url')

/** Hashing a key on each request would cost as much as finding a contact; a thousand of them stay hashed. */
const hashes = new LRUCache<string, string>({ max: 1_000, memoMethod: apiKeyHash })

const wrongKey: Problem = { kind: 'forbidden', message: 'the API key is missing or wrong' }
const disabled: Problem = { kind: 'forbidden', message: 'the account is not enabled for this version' }

type CallerPorts = {
  readonly currentStates: CurrentStates
  readonly vault: Vault
  readonly clock: Clock
  readonly rateLimit: RateLimit
}

/** 403 for a missing or wrong key and for an account that is not enabled (contract 5, rules 1 and 2). */
export const callerOf =
  ({ currentStates, vault, rateLimit }: CallerPorts) =>
  async (request: Request): Promise<Either<Problem, Caller>> => {
    const apiKey = bearerOf(request)
    const [accountId, apiKeyId, , rest] = (apiKey ?? '').split('.')
    if (apiKey === undefined || !AccountId.is(accountId) || !ApiKeyId.is(apiKeyId) || rest !== undefined) {
      return E.left(wrongKey)
    }
    const isOpenTo = (state: AccountState): boolean =>
      state.kind === 'open' && state.enabled && state.apiKeys.has(apiKeyId)
    const found: Either<StoreFailure, AccountState> = await currentStates.get(account, accountId, isOpenTo)
    if (E.isLeft(found)) return found
    const state = found.right
    const known = state.kind === 'open' ? state.apiKeys.get(apiKeyId) : undefined
    if (state.kind !== 'open' || known === undefined || !isSame(known.secretHash, hashes.memo(apiKey))) {
      return E.left(wrongKey)
    }
    if (!state.enabled) return E.left(disabled)
    const retryAfter = rateLimit.exceeded(apiKeyId, known.limitPerMinute)
    if (retryAfter !== undefined) return E.left({ kind: 'too-many-requests', retryAfter })
    const secret = vault.accountSecret(state.sealedSecret)
    if (E.isLeft(secret)) return E.left({ kind: 'corrupt', reason: 'the secret of an account can not be opened' })
    return E.right({ accountId, secret: secret.right, actor: apiKeyId })
  }

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
