import test from 'ava'
import { randomUUID } from 'node:crypto'
import { delivery } from '../../domain/delivery.js'
import { deliveryIdOf } from '../../domain/derived-id.js'
import type { AccountId, WebhookId } from '../../domain/ids.js'
import { mostCounted } from '../../projections/ports.js'
import { deliveryFacts } from '../kit/domain/samples.js'
import { send } from '../kit/network/http.js'
import { cachedHandler } from '../kit/parts/command-handlers.js'
import { rightOf } from '../kit/right-of.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { openService, serviceFor } from '../kit/service/in-process-service.js'
import { isReady } from '../kit/service/readiness.js'
import { subscribed } from '../kit/service/subscription.js'
import { storesAtRest } from '../kit/stores/stores-at-rest.js'
import { manualClock } from '../kit/time/manual-clock.js'
import { until } from '../kit/time/until.js'

const written = 500

test('the list of deliveries and the metrics count to ten thousand, and say that there may be more', async (t) => {
  const dataDir = dataDirectory(t)
  const site = { url: '' }
  const before = await openService(dataDir)
  site.url = before.url
  const { account, webhookId } = await subscribed(t, site)
  await before.stop()

  const stores = await storesAtRest(dataDir)
  const { execute } = cachedHandler(stores.store, manualClock())
  const hold = async (): Promise<void> => {
    const ids = { account_id: account.id as AccountId, webhook_id: webhookId as WebhookId }
    const delivery_id = deliveryIdOf(ids.webhook_id, randomUUID())
    const facts = deliveryFacts({ ...ids, delivery_id, body: '{}' })
    const envelope = { actor: 'delivery', eventId: () => randomUUID() }
    rightOf(await execute(delivery, delivery_id, { type: 'MakeDue', facts, heldAt: 1 }, envelope))
  }
  for (let held = 0; held <= mostCounted; held += written) await Promise.all(Array.from({ length: written }, hold))
  await stores.close()

  site.url = (await serviceFor(t, dataDir)).url
  await until('its read models have caught up', 60_000, () => isReady(site))
  const { body } = await account.manage('GET', `/webhooks/${webhookId}/deliveries?state=held&limit=1`)
  t.like(body, { count: mostCounted, count_or_more: true })
  t.regex((await send(`${site.url}/metrics`)).text, /^leadloop_deliveries_held 10000$/m)
  const none = await account.manage('GET', `/webhooks/${webhookId}/deliveries?state=due`)
  t.like(none.body, { count: 0, count_or_more: undefined })
})
