import { mayHaveReceived, type AttemptOutcome } from '../../domain/attempt-outcome.js'
import { delivery, type ErasedDeliveryEvent } from '../../domain/delivery.js'
import { mostNamed, type ErasureSummary } from '../../domain/erasure.js'
import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { ContactId, DeliveryId, ResendId, WebhookId } from '../../domain/ids.js'
import { later } from '../../domain/instant.js'
import type { Clock, EnvelopeFacts, MonotonicClock } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { resend } from '../../domain/resend.js'
import { orThrow, StoreFailed } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { executedOrThrow } from '../parking/final-failure.js'
import type { Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { resends, type ResendDocument } from '../read-models/resends.js'
import { caughtUp, type AwaitedFollower } from './caught-up.js'
import type { ClosingPorts } from './stream-closing.js'
import { entriesOf } from './contact-entries.js'

/** What is left of a delivery. */
type ErasedDelivery = EventOf<'DeliveryErased'>['data']

export type DeliveryErasurePorts = ClosingPorts & {
  readonly documents: Pick<Documents, 'get'>
  /** Maintains the read model that counts what became of bulk resends. */
  readonly resends: AwaitedFollower
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * In milliseconds: by how much the clock of the process that posts a delivery may be ahead, and how long it takes until
 * the closing event is stored, together.
 */
const clockAhead = 2_000

type Why = {
  readonly why: ErasedDelivery['why']
  /** Of the events that are written to a stream, by its id. */
  readonly envelopeOf: (id: string) => EnvelopeFacts
  readonly stopping: AbortSignal
}

/**
 * Takes away what was posted, and what receivers said; a repeat changes nothing. Undefined where there is no such
 * delivery, and where it still waits to be posted and was only kept for too long.
 * @throws StoreFailed, also where it is changed meanwhile
 */
export const eraseDelivery = async (
  ports: DeliveryErasurePorts,
  id: DeliveryId,
  why: Why,
): Promise<ErasedDelivery | undefined> => {
  const { store } = ports
  const stream = streamOf(delivery, id)
  const { events } = orThrow(await store.read(stream))
  if (events.length === 0) return undefined
  const closed = closingIn(events)
  // Whoever erases a contact drops it at once, and comes again. Retention may not: what it waits for comes before the
  // closing event.
  if (closed === undefined && why.why === 'retention')
    for (const { position } of newestOfResends(events).values())
      await caughtUp(ports.monotonic, ports.resends, position, why.stopping)
  const closing = closed ?? closingIn(await closeDelivery(ports, id, why, events))
  if (closing === undefined) return undefined
  await countResends(ports, id, why, events)
  orThrow(await store.truncate(stream, closing.revision))
  return closing.data
}

/**
 * The same with all deliveries to webhooks that tell of a contact.
 * @throws StoreFailed, also where one is changed meanwhile, and when `stopping` aborts
 */
export const eraseDeliveries = async (
  ports: DeliveryErasurePorts & { readonly documents: Pick<Documents, 'find'> },
  contactId: ContactId,
  why: Why,
): Promise<ErasureSummary & { readonly mayBeUnderWay: boolean }> => {
  let mayBeUnderWay = false
  const told = new Map<WebhookId, number>()
  const dropped: Array<DeliveryId> = []
  let droppedCount = 0
  const counted = new Set<DeliveryId>()
  for await (const entries of entriesOf(ports.documents, contactId, 'delivery', why.stopping)) {
    const ids = entries.map((entry) => entry['id'] as DeliveryId).filter((id) => !counted.has(id))
    const erased = await Promise.all(ids.map((id) => eraseDelivery(ports, id, why)))
    for (const id of ids) counted.add(id)
    for (const one of erased.filter((found) => found !== undefined)) {
      const { webhook_id, delivery_id, state, under_way } = one
      mayBeUnderWay ||= under_way === true
      if (wasReceived(one)) told.set(webhook_id, (told.get(webhook_id) ?? 0) + 1)
      // One that had ended was to be posted once more, since somebody asked for it.
      if (state !== 'dropped' && under_way !== true) continue
      droppedCount += 1
      if (dropped.length < mostNamed) dropped.push(delivery_id)
    }
  }
  // In an order that does not depend on where it was interrupted.
  const webhooks = [...told].toSorted().map(([webhook_id, deliveries]) => ({ webhook_id, deliveries }))
  return {
    webhooks,
    webhooks_count: webhooks.length,
    dropped: dropped.toSorted(),
    dropped_count: droppedCount,
    mayBeUnderWay,
  }
}

const wasReceived = ({ history, under_way }: ErasedDelivery): boolean =>
  under_way === true || history.some(({ outcome }) => outcome !== undefined && mayHaveReceived(outcome))

const closingIn = (events: ReadonlyArray<RecordedEvent>) =>
  events.flatMap((event) => (event.type === 'DeliveryErased' ? [event] : [])).at(-1)

const closeDelivery = async (
  { commandHandler, clock }: DeliveryErasurePorts,
  id: DeliveryId,
  { why, envelopeOf }: Why,
  events: ReadonlyArray<RecordedEvent>,
): Promise<ReadonlyArray<RecordedEvent>> => {
  const createdAt = events[0]?.time
  if (createdAt === undefined) return []
  const at = later(clock.now(), clockAhead)
  const command = { type: 'EraseDelivery', why, at, createdAt, history: events.map(told) } as const
  const done = await commandHandler.execute(delivery, id, command, envelopeOf(id))
  if (E.isLeft(done) && done.left.kind === 'delivery-waiting') return []
  if (E.isLeft(done) && done.left.kind === 'delivery-changed')
    throw new StoreFailed({ kind: 'unavailable', reason: 'a delivery was changed while it was erased' })
  return executedOrThrow('the erasure of a delivery', done).events
}

/** Of each bulk resend that it was part of the newest event. */
const newestOfResends = (events: ReadonlyArray<RecordedEvent>): ReadonlyMap<ResendId, RecordedEvent> => {
  const newest = new Map<ResendId, RecordedEvent>()
  for (const event of events) {
    if (event.type !== 'DeliveryResendRequested' && event.type !== 'DeliveryResent') continue
    if (event.data.resend_id !== null) newest.set(event.data.resend_id, event)
  }
  return newest
}

/** Records how far the bulk resends have come that it was part of, while the events that say so are still there. */
const countResends = async (
  { documents, resends: counting, commandHandler, monotonic }: DeliveryErasurePorts,
  id: DeliveryId,
  { envelopeOf, stopping }: Why,
  events: ReadonlyArray<RecordedEvent>,
): Promise<void> => {
  for (const [resendId, { position }] of newestOfResends(events)) {
    await caughtUp(monotonic, counting, position, stopping)
    const shown = orThrow(await documents.get(collectionOf(resends), [resendId])).get(resendId)?.document
    if (shown === undefined) throw new StoreFailed({ kind: 'unavailable', reason: 'a resend is not shown' })
    // A collection holds what its own projection made.
    const { requested, delivered, failed } = shown as ResendDocument
    const command = { type: 'CountResend', counts: { requested, delivered, failed } } as const
    const done = await commandHandler.execute(resend, resendId, command, envelopeOf(`${resendId}/${id}`))
    executedOrThrow('the count of a resend', done)
  }
}

/** An event of a delivery without anything personal. */
const told = (event: RecordedEvent): ErasedDeliveryEvent => {
  const at = { type: event.type, at: event.time }
  switch (event.type) {
    case 'DeliveryAttemptFailed':
    case 'DeliverySucceeded':
      return { ...at, outcome: withoutExcerpt(event.data.outcome) }
    case 'DeliveryAbandoned': {
      const { why, outcome } = event.data
      return { ...at, why, ...(outcome === null ? {} : { outcome: withoutExcerpt(outcome) }) }
    }
    case 'DeliveryResent':
      return { ...at, outcome: withoutExcerpt(event.data.outcome), delivered: event.data.delivered }
    default:
      return at
  }
}

const withoutExcerpt = ({ excerpt: _excerpt, ...outcome }: AttemptOutcome): AttemptOutcome => outcome
