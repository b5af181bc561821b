import { streamOf } from '../../../domain/decider.js'
import { delivery } from '../../../domain/delivery.js'
import type { DeliveryId, ParkedEventId } from '../../../domain/ids.js'
import type { CommandHandler, EventStore, Logger } from '../../../domain/ports.js'
import { parkWork } from '../../parking/parked-work.js'
import type { ProjectedEvent } from '../../projection.js'
import { isEnding } from '../../subscriptions/leases.js'
import type { Attempt } from '../queue/attempts-in-flight.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'

type SetAside = {
  /** The same attempt. One that fails for good is parked, and its delivery stays reserved until its lease ends. */
  readonly guarded: (attempt: Attempt) => Attempt
  /** Where somebody asked for one of them to be tried again it is no longer reserved, and expected. */
  readonly retried: (event: ProjectedEvent, expect: (queue: WebhookQueue, kind: 'retry') => void) => void
}

type Ports = {
  readonly store: Pick<EventStore, 'read' | 'readLast'>
  readonly commandHandler: CommandHandler
  readonly logger: Logger
}

/** The fan-out has made the deliveries: parked events, and who asks for their retry, know the process manager by its name. */
const processManager = { name: 'delivery_projector', actor: 'delivery' }

/** What can't be recorded, however often it is tried: posting it again and again would help nobody. */
export const setAside = (ports: Ports): SetAside => {
  const aside = new Map<ParkedEventId, { readonly queue: WebhookQueue; readonly id: DeliveryId }>()

  return {
    guarded: (attempt) => async (queue, id, kind) => {
      try {
        return await attempt(queue, id, kind)
      } catch (error) {
        const parked = await parkWork(processManager, streamOf(delivery, id), error, ports)
        for (const [other, { queue: its }] of aside) if (isEnding(its.lease)) aside.delete(other)
        if (parked !== undefined) aside.set(parked, { queue, id })
        return { position: undefined, isStillDue: true, isSetAside: true }
      }
    },
    retried: (event, expect) => {
      if (event.type !== 'ParkedEventRetryRequested') return
      const { parked_event_id } = event.data
      const one = aside.get(parked_event_id)
      if (one === undefined) return
      aside.delete(parked_event_id)
      one.queue.reserved.delete(one.id)
      expect(one.queue, 'retry')
    },
  }
}
