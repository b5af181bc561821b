import type { AccountId, ContactId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { isOfAccount } from '../../domain/postponement.js'
import { shards } from '../subscriptions/shards.js'

/**
 * All that goes to one contact lies in one shard, so that one process sends it. By the last letters of the id, which is
 * derived and so evenly spread.
 */
export const contactShards = shards('contacts', 16, (contactId: ContactId) => contactId.slice(-8))

type Postponed = { readonly account_id: AccountId; readonly contact_id: ContactId }

/**
 * What the index `waiting` has of what was put off for this reason, where that is its account: the shard of its
 * contact, and the account, within which it is ordered by `since`, such as when its lead came.
 */
export const waitOf = ({ account_id, contact_id }: Postponed, reason: string, since: Instant) =>
  isOfAccount(reason) ? { waits_in: contactShards.of(contact_id), waits_for: `${account_id}/${since}` } : {}

/** The values of that index that are of an account. */
export const waitsOf = (accountId: AccountId) => ({ from: `${accountId}/`, upTo: `${accountId}/~` })
