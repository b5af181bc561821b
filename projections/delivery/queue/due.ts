import type { DeliveryId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import type { Clock } from '../../../domain/ports.js'
import { findNotSetAside } from '../../parking/not-set-aside.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { deliveries, queueOf, type DeliveryDocument } from '../../read-models/deliveries.js'
import { mostRequests } from './concurrency.js'
import type { AttemptKind, WebhookQueue } from './webhook-queue.js'

type FindPorts = { readonly documents: Documents; readonly clock: Clock }

export type DuePorts = FindPorts & {
  /** Called with the time of the next retry, which is still to come. */
  readonly wakeForRetry: (queue: WebhookQueue, at: Instant) => void
}

type Due = {
  /** The earliest first. */
  readonly found: ReadonlyArray<DeliveryDocument>
  /** Whether there may be more: beyond the limit, or among those that are reserved now. */
  readonly isMore: boolean
}

const collection = collectionOf(deliveries)

/** Deliveries that wait for an attempt of this kind and are neither reserved nor set aside, `limit` at most. */
export const due = (ports: DuePorts, queue: WebhookQueue, kind: AttemptKind, limit: number): Promise<Due> =>
  kind === 'resend'
    ? unreserved(ports, queue, 'resends', queue.webhookId, limit)
    : unreserved(ports, queue, 'due', queueOf(queue.webhookId, kind), limit)

/**
 * Retries that are due now, those of the oldest schedules first, as many as may be open at once at most. Where more are
 * due, the oldest of all is found among the first few, so that it is tried on time however many others are due before
 * it.
 */
export const dueRetries = async (ports: DuePorts, queue: WebhookQueue): Promise<Array<DeliveryId>> => {
  const { clock, wakeForRetry } = ports
  if (!queue.expected.delete('retry')) return []
  try {
    const now = clock.now()
    const isDue = ({ next_attempt_at }: DeliveryDocument): boolean => (next_attempt_at ?? now) <= now
    const { found } = await due(ports, queue, 'retry', mostRequests + 1)
    const ready = found.filter(isDue)
    if (ready.length <= mostRequests) {
      const next = found[ready.length]?.next_attempt_at
      if (next !== undefined) wakeForRetry(queue, next)
      return ready.toSorted(bySchedule).map(({ id }) => id)
    }
    queue.expected.add('retry')
    const oldest = await unreserved(ports, queue, 'failing', queueOf(queue.webhookId, 'retry'), mostRequests)
    const ids = [...oldest.found.filter(isDue), ...ready].map(({ id }) => id)
    return [...new Set(ids)].slice(0, mostRequests)
  } catch (error) {
    queue.expected.add('retry')
    throw error
  }
}

const bySchedule = (one: DeliveryDocument, other: DeliveryDocument): number =>
  (one.failing_since ?? '') < (other.failing_since ?? '') ? -1 : 1

const unreserved = async (
  ports: FindPorts,
  queue: WebhookQueue,
  index: string,
  part: string,
  limit: number,
): Promise<Due> => {
  const { reserved, readAhead } = queue
  // What is read ahead are first attempts, of which more are read only when none is left.
  const shown = await notSetAside(ports, queue, index, part, limit + reserved.size - readAhead.length)
  const found = shown.filter(({ id }) => !reserved.has(id)).slice(0, limit)
  return { found, isMore: found.length >= limit || found.length < shown.length }
}

/** The first deliveries in one part of an index that are not set aside, `limit` at most. */
export const notSetAside = async (
  ports: FindPorts,
  { setAside }: Pick<WebhookQueue, 'setAside'>,
  index: string,
  part: string,
  limit: number,
): Promise<ReadonlyArray<DeliveryDocument>> => {
  const shown = await findNotSetAside(ports, collection, { index, equals: [part], limit }, setAside)
  return shown.map(({ document }) => document as DeliveryDocument)
}
