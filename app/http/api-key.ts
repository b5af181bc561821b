import { LRUCache } from 'lru-cache'
import { createHash, timingSafeEqual } from 'node:crypto'
import { AccountId, ApiKeyId } from '../../domain/ids.js'
import type { Ids } from '../../domain/ports.js'

/** A key of the REST API, which is shown once, and its hash, which is stored. */
type NewApiKey = { readonly apiKeyId: ApiKeyId; readonly apiKey: string; readonly hash: string }

/** A key names its account and itself, so that one stream tells whether it is good. */
export const newApiKey = (ids: Pick<Ids, 'ulid' | 'secret'>, accountId: AccountId): NewApiKey => {
  const apiKeyId: ApiKeyId = `key_${ids.ulid()}`
  const apiKey = `${accountId}.${apiKeyId}.${ids.secret()}`
  return { apiKeyId, apiKey, hash: hashOf(apiKey) }
}

type NamedIds = { readonly accountId: AccountId; readonly apiKeyId: ApiKeyId }

/** The account that a key opens, and the key's own id; undefined for a text that names none. */
export const idsInApiKey = (text: string): NamedIds | undefined => {
  const [accountId, apiKeyId] = text.split('.')
  return AccountId.is(accountId) && ApiKeyId.is(apiKeyId) ? { accountId, apiKeyId } : undefined
}

const hashOf = (apiKey: string): string => createHash('sha256').update(apiKey).digest('base64url')

/** Hashing a key on each request would cost as much as finding a contact. */
const hashes = new LRUCache<string, string>({ max: 1_000, memoMethod: hashOf })

/** Whether `hash` is that of the key; how long it takes tells nothing about either. */
export const isHashOf = (apiKey: string, hash: string): boolean => {
  const own = hashes.memo(apiKey)
  return own.length === hash.length && timingSafeEqual(Buffer.from(own), Buffer.from(hash))
}
