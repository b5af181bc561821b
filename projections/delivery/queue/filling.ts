import type { DeliveryId } from '../../../domain/ids.js'
import type { Begin } from './attempts-in-flight.js'
import { due, dueRetries, type DuePorts } from './due.js'
import type { Slots } from './slots.js'
import { isFull, type AttemptKind, type ExpectedKind, type WebhookQueue } from './webhook-queue.js'

type FillingPorts = DuePorts & {
  readonly slots: Slots
  readonly begin: Begin
}

/** First attempts that are read ahead, so that a busy queue is not read for each of them. */
const pageSize = 64

/**
 * Begins what is due to a webhook, in the order of `AttemptKind`. Resolves with `no-slot` where it ran out of slots, so
 * that there may be more.
 * @throws where the read model can't be read
 */
export const fill = async (ports: FillingPorts, queue: WebhookQueue): Promise<'no-slot' | 'all-begun'> => {
  // Once the read model shows how some of them ended the queue is filled again.
  if (isFull(queue) || queue.setAside.has(queue.webhookId)) return 'all-begun'
  if (ports.slots.freeFor(queue) <= 0) return 'no-slot'
  const retries = await dueRetries(ports, queue)
  try {
    const isAllBegun =
      (await beginFirst(ports, queue, retries)) &&
      (await beginExpected(ports, queue, 'resend', retries)) &&
      beginRetries(ports, queue, retries) &&
      (await beginExpected(ports, queue, 'caught-up', retries))
    return isAllBegun ? 'all-begun' : 'no-slot'
  } finally {
    if (retries.length > 0) queue.expected.add('retry')
  }
}

/** Begins it, and a retry before it where that is next. False where no slot is left. */
const beginInTurn = (
  { slots, begin }: FillingPorts,
  queue: WebhookQueue,
  id: DeliveryId,
  kind: AttemptKind,
  retries: Array<DeliveryId>,
): boolean => {
  const retry = queue.isRetryNext && slots.freeFor(queue) > 0 ? retries.shift() : undefined
  if (retry !== undefined) begin(queue, retry, 'retry')
  if (slots.freeFor(queue) <= 0) return false
  begin(queue, id, kind)
  return true
}

/** False where it ran out of slots: there may be more first attempts, and all others come after them. */
const beginFirst = async (ports: FillingPorts, queue: WebhookQueue, retries: Array<DeliveryId>): Promise<boolean> => {
  const { readAhead, reserved } = queue
  for (let isMore = true; ;) {
    for (let id = readAhead[0]; id !== undefined; id = readAhead[0]) {
      if (!beginInTurn(ports, queue, id, 'first', retries)) return false
      readAhead.shift()
    }
    if (!isMore) return true
    if (ports.slots.freeFor(queue) <= 0) return false
    const { found } = await due(ports, queue, 'first', pageSize)
    isMore = found.length === pageSize
    for (const { id } of found) {
      reserved.add(id)
      readAhead.push(id)
    }
  }
}

/** False where it ran out of slots: there may be more. */
const beginExpected = async (
  ports: FillingPorts,
  queue: WebhookQueue,
  kind: Exclude<ExpectedKind, 'retry'>,
  retries: Array<DeliveryId>,
): Promise<boolean> => {
  const free = ports.slots.freeFor(queue)
  if (free <= 0) return false
  if (!queue.expected.delete(kind)) return true
  let isMore = true
  try {
    const page = await due(ports, queue, kind, free)
    const isAllBegun = page.found.every(({ id }) => beginInTurn(ports, queue, id, kind, retries))
    isMore = page.isMore || !isAllBegun
    return isAllBegun && page.found.length < free
  } finally {
    if (isMore) queue.expected.add(kind)
  }
}

/** False where more of them are due than there are slots. */
const beginRetries = ({ slots, begin }: FillingPorts, queue: WebhookQueue, retries: Array<DeliveryId>): boolean => {
  for (const id of retries.splice(0, Math.max(slots.freeFor(queue), 0))) begin(queue, id, 'retry')
  return retries.length === 0 && !queue.expected.has('retry')
}
