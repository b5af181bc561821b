import { over } from '../../../domain/abortable.js'
import type { WebhookId } from '../../../domain/ids.js'
import type { Lease } from '../../subscriptions/leases.js'
import { webhookShards } from '../webhook-shards.js'
import { isAtRest, webhookQueue, type WebhookQueue } from './webhook-queue.js'

/** The queues of the webhooks that this process may post to: those of the shards whose leases it holds. */
export type LeasedQueues = {
  /** Begins to hold the shard that the lease is on. */
  readonly hold: (lease: Lease) => void
  /** The queue of a webhook; undefined while another process posts to it. */
  readonly of: (webhookId: WebhookId) => WebhookQueue | undefined
  /**
   * Forgets the queue of a webhook that was removed. One in which something has still to end stays: that end looks for
   * what is left once more.
   */
  readonly forget: (queue: WebhookQueue) => void
  /** Gives up the shard, and returns the queues that there were of it. */
  readonly release: (lease: Lease) => ReadonlyArray<WebhookQueue>
}

export const leasedQueues = (): LeasedQueues => {
  const leases = new Map<string, Lease>()
  const queues = new Map<WebhookId, WebhookQueue>()

  return {
    hold: (lease) => {
      leases.set(lease.name, lease)
    },
    of: (webhookId) => {
      const known = queues.get(webhookId)
      if (known !== undefined) return known
      const lease = leases.get(webhookShards.of(webhookId))
      if (lease === undefined) return undefined
      const queue = webhookQueue(webhookId, lease)
      queues.set(webhookId, queue)
      return queue
    },
    forget: (queue) => {
      // Where it comes late the webhook may have another one by now.
      if (queues.get(queue.webhookId) !== queue || !isAtRest(queue)) return
      queue.timer?.abort(over)
      queues.delete(queue.webhookId)
    },
    release: (lease) => {
      leases.delete(lease.name)
      const released = [...queues.values()].filter((queue) => queue.lease === lease)
      for (const { webhookId } of released) queues.delete(webhookId)
      return released
    },
  }
}
