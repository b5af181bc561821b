import type { ExecutionContext } from 'ava'
import { randomUUID } from 'node:crypto'
import { delivery } from '../../../domain/delivery.js'
import { deliveryIdOf } from '../../../domain/derived-id.js'
import type { AccountId, DeliveryId, WebhookId } from '../../../domain/ids.js'
import { instantOf, type Instant } from '../../../domain/instant.js'
import { cachedHandler } from '../parts/command-handlers.js'
import { deliveryFacts } from '../domain/samples.js'
import type { Site } from '../network/http.js'
import type { Answering } from '../network/receiver.js'
import { rightOf } from '../right-of.js'
import { storesAtRest } from '../stores/stores-at-rest.js'
import { manualClock } from '../time/manual-clock.js'
import { dataDirectory } from './data-directory.js'
import { openService, serviceFor } from './in-process-service.js'
import { subscribed, type Subscription } from './subscription.js'

/** A delivery that became due at `at`, and so many attempts of it, all of which failed. */
type PastDelivery = { readonly at: Instant; readonly attempts: number }

export const minutesAgo = (minutes: number): Instant => instantOf(Date.now() - minutes * 60_000)

/**
 * A service that starts on a log in which these deliveries to a webhook stand already: their ids in the same order.
 * What is still to be tried of them is due at once.
 */
export const withPast = async (
  t: ExecutionContext,
  past: ReadonlyArray<PastDelivery>,
  answering: Answering = () => 500,
): Promise<Subscription & { readonly site: Site; readonly deliveryIds: ReadonlyArray<DeliveryId> }> => {
  const dataDir = dataDirectory(t)
  const site = { url: '' }
  const before = await openService(dataDir)
  site.url = before.url
  const subscription = await subscribed(t, site)
  await before.stop()

  const { account, webhookId, receiver } = subscription
  const deliveryIds = await written(dataDir, account.id as AccountId, webhookId as WebhookId, past)

  receiver.answer(answering)
  const { url } = await serviceFor(t, dataDir)
  site.url = url
  return { ...subscription, site, deliveryIds }
}

const written = async (
  dataDir: string,
  account_id: AccountId,
  webhook_id: WebhookId,
  past: ReadonlyArray<PastDelivery>,
): Promise<ReadonlyArray<DeliveryId>> => {
  const { store, close } = await storesAtRest(dataDir)
  const clock = manualClock()
  const { execute } = cachedHandler(store, clock)

  const ids: Array<DeliveryId> = []
  for (const { at, attempts } of past) {
    clock.set(at)
    const delivery_id = deliveryIdOf(webhook_id, randomUUID())
    const body = `{"activity":{"label":"started","note":"${ids.length}"}}`
    const facts = deliveryFacts({ delivery_id, account_id, webhook_id, due_at: at, body })
    const envelope = { actor: 'delivery', eventId: () => randomUUID() }
    rightOf(await execute(delivery, delivery_id, { type: 'MakeDue', facts, heldAt: undefined }, envelope))
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const outcome = { attempt, status: 500, reason: 'status 500', duration_ms: 1 }
      const failed = { type: 'RecordAttempt', delivered: false, outcome, nextAttemptAt: at } as const
      rightOf(await execute(delivery, delivery_id, failed, envelope))
    }
    ids.push(delivery_id)
  }
  await close()
  return ids
}
