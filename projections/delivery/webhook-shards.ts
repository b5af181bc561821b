import type { WebhookId } from '../../domain/ids.js'

/**
 * Delivery workers share the webhooks out by shards: one process at a time holds the lease on a shard. All that goes to
 * one webhook lies in one shard, so that its concurrency limit and the order of its attempts hold over all processes.
 */
export const webhookShards: ReadonlyArray<string> = Array.from({ length: 64 }, (_, n) => `webhooks_${n}`)

/**
 * Hashes all letters of the id: the first ones are its time, and ids that are made at once differ in the last ones
 * only.
 */
export const webhookShardOf = (webhookId: WebhookId): string => {
  let hash = 0
  for (let index = 0; index < webhookId.length; index += 1) {
    hash = (Math.imul(hash, 31) + webhookId.charCodeAt(index)) >>> 0
  }
  return `webhooks_${hash % webhookShards.length}`
}
