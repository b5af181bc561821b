import type { WebhookId } from '../../../domain/ids.js'
import { sharedRun } from '../../../domain/shared-run.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { deliveries, webhookOfQueue } from '../../read-models/deliveries.js'

const collection = collectionOf(deliveries)

/**
 * The webhooks for which the read model shows something to do: a delivery that is due, waits for the webhook to be
 * turned on, or is to be sent once more. It costs a step for each of them, and none for a delivery. Those who ask
 * during a query share the next one, so that it reflects all that was shown when they asked.
 * @throws where the read model can't be read
 */
export const waitingWebhooks = (documents: Pick<Documents, 'values'>): (() => Promise<ReadonlySet<WebhookId>>) => {
  const valuesOf = async (index: 'due' | 'backlog' | 'resends'): Promise<ReadonlyArray<string>> =>
    orThrow(await documents.values(collection, index)).map(String)

  return sharedRun(async () => {
    const [queues, backlogs, resends] = await Promise.all([valuesOf('due'), valuesOf('backlog'), valuesOf('resends')])
    return new Set([...queues.map(webhookOfQueue), ...([...backlogs, ...resends] as Array<WebhookId>)])
  })
}
