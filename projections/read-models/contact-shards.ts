import type { AccountId, ContactId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { isOfAccount } from '../../domain/postponement.js'

/**
 * Follow-up workers share the contacts out by shards: one process at a time holds the lease on a shard, so that all
 * that goes to one contact is sent by one process.
 */
export const contactShards: ReadonlyArray<string> = Array.from({ length: 16 }, (_, n) => `contacts_${n}`)

/** By the last letters of the id, which is derived and so evenly spread. */
export const contactShardOf = (contactId: ContactId): string => {
  let hash = 0
  for (let index = contactId.length - 8; index < contactId.length; index += 1)
    hash = (Math.imul(hash, 31) + contactId.charCodeAt(index)) >>> 0
  return `contacts_${hash % contactShards.length}`
}

type Postponed = { readonly account_id: AccountId; readonly contact_id: ContactId }

/**
 * What the index `waiting` has of what was put off for this reason, where that is its account: the shard of its
 * contact, and the account, within which it is ordered by `since`, such as when its lead came.
 */
export const waitOf = ({ account_id, contact_id }: Postponed, reason: string, since: Instant) =>
  isOfAccount(reason) ? { waits_in: contactShardOf(contact_id), waits_for: `${account_id}/${since}` } : {}

/** The values of that index that are of an account. */
export const waitsOf = (accountId: AccountId) => ({ from: `${accountId}/`, upTo: `${accountId}/~` })
