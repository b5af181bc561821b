import type { Instant } from '../../../domain/instant.js'
import type { Clock } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { deliveries, queueOf, type DeliveryDocument } from '../../read-models/deliveries.js'
import type { Begin } from './attempts-in-flight.js'
import type { Slots } from './slots.js'
import type { AttemptKind, SeldomKind, WebhookQueue } from './webhook-queue.js'

export type FillingPorts = {
  readonly documents: Documents
  readonly clock: Clock
  readonly slots: Slots
  readonly begin: Begin
}

const collection = collectionOf(deliveries)

/** First attempts that are read ahead, so that a busy queue is not read for each of them. */
const readAtOnce = 64

/**
 * Begins what is due to a webhook, in the order of `AttemptKind` and as far as there are slots. Resolves with the time of the
 * next retry, and with undefined where none waits or there was no slot left for it.
 * @throws where the read model can't be read
 */
export const fill = async (ports: FillingPorts, queue: WebhookQueue): Promise<Instant | undefined> => {
  if (!(await beginFirst(ports, queue))) return undefined
  await beginSeldom(ports, queue, 'resend')
  const nextRetry = await beginRetries(ports, queue)
  await beginSeldom(ports, queue, 'caught-up')
  return nextRetry
}

/** False while first attempts wait for a slot: all others come after them. */
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

const beginSeldom = async (ports: FillingPorts, queue: WebhookQueue, kind: SeldomKind): Promise<void> => {
  const { slots, begin } = ports
  const free = slots.freeFor(queue)
  if (free <= 0 || !queue.expected.delete(kind)) return
  try {
    const { found, isMore } = await due(ports, queue, kind, free)
    if (isMore) queue.expected.add(kind)
    for (const { id } of found) begin(queue, id, kind)
  } catch (error) {
    queue.expected.add(kind)
    throw error
  }
}

/** The time of the next retry, as `fill` gives it. */
const beginRetries = async (ports: FillingPorts, queue: WebhookQueue): Promise<Instant | undefined> => {
  const { slots, begin, clock } = ports
  const free = slots.freeFor(queue)
  if (free <= 0) return undefined
  const now = clock.now()
  const { found } = await due(ports, queue, 'retry', free + 1)
  for (const { id, next_attempt_at } of found) {
    if (next_attempt_at === undefined || next_attempt_at > now) return next_attempt_at
    if (slots.freeFor(queue) <= 0) return undefined
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
