import { idIn, streamOf } from '../../../domain/decider.js'
import { delivery } from '../../../domain/delivery.js'
import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import { webhook } from '../../../domain/webhook.js'
import { parkedWork, recordedBy, type ParkedWorkPorts } from '../../parking/parked-work.js'
import type { ProjectedEvent } from '../../projection.js'
import { isEnding } from '../../subscriptions/leases.js'
import { FailedForGood } from '../../subscriptions/retried-command.js'
import type { Attempt, AttemptEnd } from '../queue/attempts-in-flight.js'
import type { LeasedQueues } from '../queue/leased-queues.js'
import type { ExpectedKind, WebhookQueue } from '../queue/webhook-queue.js'

type SetAside = {
  /**
   * Makes an attempt as `attempt` does. Where it fails for good, or throws too often in a row, its delivery is set aside, or its whole
   * queue where the webhook can't be read.
   */
  readonly guarded: (attempt: Attempt) => Attempt
  /**
   * Has what is set aside tried again where somebody asked for it.
   * @throws StoreFailed
   */
  readonly learn: (event: ProjectedEvent, expect: (queue: WebhookQueue, kind: ExpectedKind) => void) => Promise<void>
}

type Ports = ParkedWorkPorts & { readonly queues: Pick<LeasedQueues, 'of'> }

export const deliveryWorkerName = 'delivery_worker'

export const setAside = ({ queues, ...ports }: Ports): SetAside => {
  const placeOf = (stream: string, [first]: ReadonlyArray<ProjectedEvent>): WebhookQueue | undefined => {
    const due = first?.type === 'DeliveryDue' ? first.data.webhook_id : undefined
    const id = due ?? (idIn(webhook, stream) as WebhookId | undefined)
    return id === undefined ? undefined : queues.of(id)
  }
  const worker = { name: deliveryWorkerName, actor: 'delivery', ...recordedBy(delivery), placeOf }
  const { finalFailure, failed, succeeded, learn } = parkedWork<WebhookQueue>(worker, ports)

  const set =
    (queue: WebhookQueue, id: DeliveryId) =>
    async (error: unknown): Promise<AttemptEnd> => {
      if (!(error instanceof FailedForGood) && isEnding(queue.lease)) throw error
      const failure = finalFailure(id, error)
      await failed(queue, failure.stream === streamOf(webhook, queue.webhookId) ? queue.webhookId : id, failure)
      return { position: undefined, isStillDue: true }
    }

  return {
    guarded: (attempt) => async (queue, id, kind) => {
      const end = await attempt(queue, id, kind).catch(set(queue, id))
      if (end.position !== undefined || !end.isStillDue) await succeeded(queue, id)
      return end
    },
    learn: async (event, expect) => {
      const queue = await learn(event)
      // It may wait for any of these: a resend must be looked for as a resend.
      if (queue !== undefined) for (const kind of ['resend', 'retry', 'caught-up'] as const) expect(queue, kind)
    },
  }
}
