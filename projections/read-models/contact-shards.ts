import type { ContactId } from '../../domain/ids.js'

/**
 * Follow-up workers share the contacts out by shards: one process at a time holds the lease on a shard, so that all that goes to one
 * contact is sent by one process.
 */
export const contactShards: ReadonlyArray<string> = Array.from({ length: 16 }, (_, n) => `contacts_${n}`)

/** By the last letters of the id, which is derived and so evenly spread. */
export const contactShardOf = (contactId: ContactId): string => {
  let hash = 0
  for (let index = contactId.length - 8; index < contactId.length; index += 1)
    hash = (Math.imul(hash, 31) + contactId.charCodeAt(index)) >>> 0
  return `contacts_${hash % contactShards.length}`
}
