import type { WebhookId } from '../../domain/ids.js'

/**
 * The names under which delivery workers split the webhooks. All that goes to one webhook lies in one shard, so that the
 * cap on its open requests and the order of its attempts hold over all processes.
 */
export const shards: ReadonlyArray<string> = Array.from({ length: 64 }, (_, n) => `webhooks_${n}`)

/** By all letters of the id, since few of them are both random and apart from each other. */
export const shardOf = (webhookId: WebhookId): string => {
  let hash = 0
  for (let index = 0; index < webhookId.length; index += 1) {
    hash = (Math.imul(hash, 31) + webhookId.charCodeAt(index)) >>> 0
  }
  return `webhooks_${hash % shards.length}`
}
