import type { WebhookId } from '../../domain/ids.js'
import { shards } from '../subscriptions/shards.js'

/**
 * All that goes to one webhook lies in one shard, so that its concurrency limit and the order of its attempts hold over
 * all processes. By all letters of the id: the first ones are its time, and ids that are made at once differ in the
 * last ones only.
 */
export const webhookShards = shards('webhooks', 64, (webhookId: WebhookId) => webhookId)
