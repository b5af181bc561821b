import type { Instant } from '../../../domain/instant.js'
import type { Clock } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { deliveries, queueOf, type DeliveryDocument } from '../../read-models/deliveries.js'
import type { Begin } from './attempts-in-flight.js'
import type { Slots } from './slots.js'
import type { AttemptKind, RareKind, WebhookQueue } from './webhook-queue.js'

type FillingPorts = {
  readonly documents: Documents
  readonly clock: Clock
  readonly slots: Slots
  readonly begin: Begin
}

const collection = collectionOf(deliveries)

/** First attempts that are read ahead, so that a busy queue is not read for each of them. */
const readAtOnce = 64

/**
 * Begins what is due to a webhook, in the order of `AttemptKind`. Resolves with `no-slot` where it ran out of slots, so that
 * there may be more; otherwise with the time of the next retry, or undefined where none waits.
 * @throws where the read model can't be read
 */
export const fill = async (ports: FillingPorts, queue: WebhookQueue): Promise<Instant | 'no-slot' | undefined> => {
  if (!(await beginFirst(ports, queue))) return 'no-slot'
  if (!(await beginRare(ports, queue, 'resend'))) return 'no-slot'
  const nextRetry = await beginRetries(ports, queue)
  if (nextRetry === 'no-slot') return nextRetry
  return (await beginRare(ports, queue, 'caught-up')) ? nextRetry : 'no-slot'
}

/** False where it ran out of slots: there may be more first attempts, and all others come after them. */
const beginFirst = async (ports: FillingPorts, queue: WebhookQueue): Promise<boolean> => {
  const { slots, begin } = ports
  const { readAhead, reserved } = queue
  if (slots.freeFor(queue) <= 0) return false
  if (readAhead.length === 0) {
    for (const { id } of (await due(ports, queue, 'first', readAtOnce)).found) {
      reserved.add(id)
      readAhead.push(id)
    }
  }
  for (const id of readAhead.splice(0, Math.max(slots.freeFor(queue), 0))) begin(queue, id, 'first')
  return readAhead.length === 0
}

/** False where it ran out of slots: there may be more. */
const beginRare = async (ports: FillingPorts, queue: WebhookQueue, kind: RareKind): Promise<boolean> => {
  const { slots, begin } = ports
  const free = slots.freeFor(queue)
  if (free <= 0) return false
  if (!queue.expected.delete(kind)) return true
  try {
    const { found, isMore } = await due(ports, queue, kind, free)
    if (isMore) queue.expected.add(kind)
    for (const { id } of found) begin(queue, id, kind)
    return found.length < free
  } catch (error) {
    queue.expected.add(kind)
    throw error
  }
}

const beginRetries = async (ports: FillingPorts, queue: WebhookQueue): Promise<Instant | 'no-slot' | undefined> => {
  const { slots, begin, clock } = ports
  const free = slots.freeFor(queue)
  if (free <= 0) return 'no-slot'
  const now = clock.now()
  const { found } = await due(ports, queue, 'retry', free + 1)
  for (const { id, next_attempt_at } of found) {
    if (next_attempt_at === undefined || next_attempt_at > now) return next_attempt_at
    if (slots.freeFor(queue) <= 0) return 'no-slot'
    begin(queue, id, 'retry')
  }
  return undefined
}

type Due = {
  readonly found: ReadonlyArray<DeliveryDocument>
  /** Whether there may be more: beyond the limit, or among those that are reserved now. */
  readonly isMore: boolean
}

/** Deliveries that wait for an attempt of this kind and are not reserved, the earliest first, `limit` at most. */
const due = async (
  { documents }: FillingPorts,
  { webhookId, reserved }: WebhookQueue,
  kind: AttemptKind,
  limit: number,
): Promise<Due> => {
  const [index, equals] = kind === 'resend' ? ['resends', webhookId] : ['due', queueOf(webhookId, kind)]
  const query = { index, equals: [equals], limit: limit + reserved.size }
  const shown = orThrow(await documents.find(collection, query)).map(({ document }) => document as DeliveryDocument)
  const found = shown.filter(({ id }) => !reserved.has(id)).slice(0, limit)
  return { found, isMore: found.length >= limit || found.length < shown.length }
}
