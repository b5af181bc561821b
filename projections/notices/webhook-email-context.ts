import { foldStream } from '../../domain/aggregate.js'
import { StatedFailure } from '../../domain/failure-reason.js'
import type { WebhookId } from '../../domain/ids.js'
import type { WebhookNotice } from '../../domain/notice.js'
import type { EventStore } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { webhook, type KnownWebhook } from '../../domain/webhook.js'
import { mostCounted, type Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { deliveries, queueOf, queueParts } from '../read-models/deliveries.js'
import { readOrThrow } from '../subscriptions/retries/failed-for-good.js'

/** What an e-mail says beside the facts of its notice. */
export type EmailContext = {
  /** Where clients reach the service, without a slash at the end. */
  readonly siteUrl: string
  /** The URL that the deliveries failed to. An e-mail shows only its origin: the rest may hold a secret. */
  readonly url: string
  /** The state of the webhook now. */
  readonly state: KnownWebhook['kind'] | 'removed'
  /**
   * Deliveries that wait for the webhook now; `mostCounted` where there are as many or more. Undefined while the read
   * model of the deliveries is built anew.
   */
  readonly waiting: number | undefined
}

type ContextPorts = { readonly store: EventStore; readonly documents: Documents }

/**
 * How the webhook was when it was turned off, and what has become of it.
 * @throws FailedForGood, and where a store fails
 */
export const webhookContext = async (
  { store, documents }: ContextPorts,
  { webhook_id, turned_off_id }: WebhookNotice,
): Promise<Omit<EmailContext, 'siteUrl'>> => {
  const stream = streamOf(webhook, webhook_id)
  const { events } = readOrThrow(stream, await store.read(stream))
  const index = events.findIndex(({ id }) => id === turned_off_id)
  const then = foldStream(webhook, events.slice(0, index + 1))
  const now = foldStream(webhook, events.slice(index + 1), then)
  if (then.kind !== 'off' || now.kind === 'unknown')
    throw new StatedFailure('the stream of a webhook does not turn it off')
  return { url: then.settings.url, state: now.kind, waiting: await waitingFor(documents, webhook_id) }
}

/** Until the worker has held them all, some still wait in the queue of the webhook: both are counted. */
const waitingFor = async (documents: Documents, webhookId: WebhookId): Promise<number | undefined> => {
  if (!orThrow(await documents.exists(collectionOf(deliveries)))) return undefined
  const queued = queueParts.map((part) => queueOf(webhookId, part))
  const parts = [
    { index: 'backlog', equals: [webhookId] },
    ...queued.map((queue) => ({ index: 'due', equals: [queue] })),
  ]
  const counts = await Promise.all(
    parts.map((part) => documents.count(collectionOf(deliveries), { ...part, limit: mostCounted })),
  )
  return Math.min(
    counts.reduce((sum, count) => sum + orThrow(count), 0),
    mostCounted,
  )
}
