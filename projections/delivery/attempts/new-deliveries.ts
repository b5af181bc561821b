import { LRUCache } from 'lru-cache'
import type { Aggregate } from '../../../domain/aggregate.js'
import { approximateBytes } from '../../../domain/approximate-size.js'
import { delivery, type DeliveryState } from '../../../domain/delivery.js'
import type { Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import { idIn } from '../../../domain/stream-name.js'

/** In bytes, about. */
const capacity = 16_000_000

/** Ids that are remembered: an event arrives soon after the read model shows it, so few are waited for at a time. */
const capacityOfReadIds = 10_000

/** Deliveries that became due while this process holds their webhooks, so that their first attempts need no read. */
export type NewDeliveries = {
  readonly learn: (event: RecordedEvent) => void
  /**
   * Undefined where the stream must be read. A delivery is given only once, because its first attempt appends to the
   * stream.
   */
  readonly take: (id: DeliveryId) => Aggregate<DeliveryState> | undefined
  /** Another process may make attempts from now on. */
  readonly forget: () => void
}

/**
 * `isNew`: whether the position came after this process leased the webhook and followed the log, so that nobody made an
 * attempt before.
 */
export const newDeliveries = (isNew: (webhookId: WebhookId, position: Position) => boolean): NewDeliveries => {
  const cache = new LRUCache<DeliveryId, Aggregate<DeliveryState>>({
    maxSize: capacity,
    sizeCalculation: approximateBytes,
  })
  /**
   * Deliveries that the read model showed before their event arrived: that event is out of date by then, so it is not
   * cached.
   */
  const readIds = new LRUCache<DeliveryId, true>({ maxSize: capacityOfReadIds, sizeCalculation: () => 1 })

  return {
    learn: (event) => {
      const id = idIn(delivery, event.stream) as DeliveryId | undefined
      if (id === undefined) return
      if (event.type !== 'DeliveryDue') cache.delete(id)
      else if (!readIds.delete(id) && isNew(event.data.webhook_id, event.position)) {
        const { revision, correlationId } = event
        const state = delivery.evolve(delivery.initial, event)
        cache.set(id, { state, revision, last: { id: event.id, correlationId } })
      }
    },
    take: (id) => {
      const taken = cache.get(id)
      if (taken === undefined) readIds.set(id, true)
      cache.delete(id)
      return taken
    },
    forget: () => cache.clear(),
  }
}
