import { LRUCache } from 'lru-cache'
import type { Aggregate } from '../../../domain/aggregate.js'
import { approximateBytes } from '../../../domain/approximate-size.js'
import { idIn } from '../../../domain/decider.js'
import { delivery, type DeliveryState } from '../../../domain/delivery.js'
import type { Position } from '../../../domain/event.js'
import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import type { ProjectedEvent } from '../../projection.js'

/** In bytes, about. */
const capacity = 16_000_000

/** Ids; far more than are read within the moment that an event takes to be learnt. */
const longestRead = 10_000

/** Deliveries that became due while this process holds their webhooks, so that their first attempts need no read. */
export type NewDeliveries = {
  readonly learn: (event: ProjectedEvent) => void
  /** Undefined where it must be read. It is given once: an attempt that comes after it finds the stream longer. */
  readonly take: (id: DeliveryId) => Aggregate<DeliveryState> | undefined
  /** Another process may make attempts from now on. */
  readonly forget: () => void
}

/** `isNew`: what became due to the webhook at the position was tried by no other process, and not by this one before. */
export const newDeliveries = (isNew: (webhookId: WebhookId, position: Position) => boolean): NewDeliveries => {
  const cache = new LRUCache<DeliveryId, Aggregate<DeliveryState>>({
    maxSize: capacity,
    sizeCalculation: approximateBytes,
  })
  /** Those that the read model showed first: when their event is learnt they have been tried. */
  const read = new LRUCache<DeliveryId, true>({ max: longestRead })

  return {
    learn: (event) => {
      const id = idIn(delivery, event.stream) as DeliveryId | undefined
      if (id === undefined) return
      if (event.type !== 'DeliveryDue') cache.delete(id)
      else if (!read.delete(id) && isNew(event.data.webhook_id, event.position)) {
        const { revision, correlationId } = event
        const state = delivery.evolve(delivery.initial, event)
        cache.set(id, { state, revision, last: { id: event.id, correlationId } })
      }
    },
    take: (id) => {
      const taken = cache.get(id)
      if (taken === undefined) read.set(id, true)
      cache.delete(id)
      return taken
    },
    forget: () => cache.clear(),
  }
}
