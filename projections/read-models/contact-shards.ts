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
 * The fields of the index `waiting` in what was put off for this reason; none where it does not wait for its account.
 * They hold the shard of its contact, and the account with `since`, such as when its lead came, by which it is ordered.
 */
export const waitingFieldsOf = ({ account_id, contact_id }: Postponed, reason: string, since: Instant) =>
  isOfAccount(reason) ? { waits_in: contactShards.of(contact_id), waits_for: `${account_id}/${since}` } : {}

/** The part of that index that is of an account. */
export const waitingRangeOf = (accountId: AccountId) => ({ from: `${accountId}/`, upTo: `${accountId}/~` })
