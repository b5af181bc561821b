import { neverAborted } from '../../domain/abortable.js'
import { mayHaveReceived } from '../../domain/attempt-outcome.js'
import { contact } from '../../domain/contact.js'
import { streamOf } from '../../domain/decider.js'
import { derivedEventId } from '../../domain/derived-id.js'
import { engagement } from '../../domain/engagement.js'
import { erasure, mostNamed, type ErasureSummary } from '../../domain/erasure.js'
import { beginning, type Position } from '../../domain/event.js'
import type { ContactId, DeliveryId, EngagementId, LeadId, WebhookId } from '../../domain/ids.js'
import { lead } from '../../domain/lead.js'
import { remark } from '../../domain/remark.js'
import type { Cause, EventStore } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { executedOrThrow } from '../parking/final-failure.js'
import { parking } from '../parking/parking.js'
import { streamEnds } from '../parking/stream-ends.js'
import type { Documents } from '../ports.js'
import type { ProjectedEvent } from '../projection.js'
import type { Checkpoint } from '../subscriptions/checkpoint.js'
import type { Follower } from '../subscriptions/follower.js'
import { caughtUp, type Awaited } from './caught-up.js'
import { close } from './closing.js'
import { entriesOf } from './contact-entries.js'
import { eraseLastMessage, eraseMessage, eraseMessages, type MessageErasure } from './erased-messages.js'
import { eraseDelivery, type DeliveryErasurePorts, type ErasedDelivery } from './erased-delivery.js'
import type { CopyPorts } from './found-copies.js'

type EraserPorts = DeliveryErasurePorts &
  CopyPorts & {
    readonly store: EventStore
    readonly documents: Pick<Documents, 'find' | 'get' | 'purge'>
    /** Removes what is kept beside the log of a stream. */
    readonly removeSnapshot: (stream: string, position: Position) => Promise<void>
    /** Begin what follows from a lead that the contact has engaged. */
    readonly reactions: Awaited
    /** Makes deliveries due, with what it knew of the contact. */
    readonly deliveryFanOut: Awaited
    /** Shows all that a contact has: its leads with their engagements, and its deliveries. */
    readonly timeline: Awaited
    /** Shows what was written to a contact and by it. */
    readonly messages: Awaited
    readonly checkpoint: Checkpoint
  }

/** In milliseconds: an attempt that was begun before its delivery was dropped has ended after that (contract 6.6.1), with its record. */
const longestAttempt = 7_000

type Requested = Extract<ProjectedEvent, { readonly type: 'ErasureRequested' }>
type LateMessage = Extract<ProjectedEvent, { readonly type: 'LateMessageFound' }>
type LateLead = Extract<ProjectedEvent, { readonly type: 'LateLeadFound' }>

export const eraserName = 'eraser'

/**
 * The process manager of erasures: a request in, and closing events out for every stream that holds something of the contact, which
 * it truncates then. Each step can be repeated.
 */
export const eraser = (ports: EraserPorts): Follower => {
  const { checkpoint } = ports
  let stopping = neverAborted

  const work = async (event: ProjectedEvent, isRetry: boolean): Promise<void> => {
    if (event.type === 'ErasureRequested') await erase(ports, event, stopping)
    else if (event.type === 'LateLeadFound') await eraseLead(ports, event, event.data.lead_id)
    else if (event.type === 'LateMessageFound')
      await eraseMessage(ports, event.data, event.time, erasureOf(ports, event, stopping))
    else {
      // A stream that retention could not read is parked by its newest event: the retry answers whether it can be read now.
      if (isRetry) orThrow(await streamEnds(ports, event.stream))
      return
    }
    // Where somebody reads what was removed it stays in a file for now: whoever asks for the erasure again is told so.
    for (const purge of [ports.store.purge, ports.documents.purge]) orThrow(await purge())
  }
  const { handle, skip } = parking({ name: eraserName, actor: 'eraser', work }, ports)

  return {
    name: eraserName,
    categories: ['erasure', 'parked'],
    begin: (signal) => {
      stopping = signal
      return checkpoint.load()
    },
    handle: async (batch) => {
      for (const event of batch.events) await handle(event)
      await checkpoint.advance(batch)
    },
    skip,
    end: checkpoint.flush,
  }
}

/**
 * In this order, so that nothing is added later: no lead joins the contact any more, nothing is recorded of its engagements, the
 * fan-out has passed all that was, and what that made due is dropped. What is known to be due is dropped first: the rest may take long.
 */
const erase = async (ports: EraserPorts, event: Requested, stopping: AbortSignal): Promise<void> => {
  const { documents, reactions, timeline, deliveryFanOut, time } = ports
  const { contact_id: contactId } = event.data
  let newest = await eraseContact(ports, event)
  await eraseDeliveries(ports, event, stopping)
  await caughtUp(time, reactions, newest, stopping)
  await caughtUp(time, timeline, newest, stopping)
  for await (const leads of entriesOf(documents, contactId, 'lead', stopping)) {
    const ends = leads.map((entry) =>
      eraseEngagement(ports, event, entry['next_engagement_id'] as EngagementId, stopping),
    )
    newest = furthest(newest, await Promise.all(ends))
  }
  await caughtUp(time, deliveryFanOut, newest, stopping)
  await caughtUp(time, ports.messages, newest, stopping)
  await eraseMessages(ports, event.data, erasureOf(ports, event, stopping))
  for await (const leads of entriesOf(documents, contactId, 'lead', stopping)) {
    const ends = leads.map((entry) => eraseLead(ports, event, entry['lead_id'] as LeadId))
    newest = furthest(newest, await Promise.all(ends))
  }
  // The fan-out made its last deliveries due before the leads were closed, so a timeline that shows their ends shows these too.
  await caughtUp(time, timeline, newest, stopping)
  const { mayBeUnderWay, ...summary } = await eraseDeliveries(ports, event, stopping)
  if (mayBeUnderWay) await time.sleep(longestAttempt, stopping)
  const command = { type: 'CompleteErasure', summary } as const
  const cause = causeOf(event, 'completed')
  const done = await ports.commandHandler.execute(erasure, event.data.erasure_id, command, cause)
  executedOrThrow('the end of an erasure', done)
}

const eraseContact = async (ports: EraserPorts, event: Requested): Promise<Position> => {
  const { contact_id: id, erasure_id: erasureId } = event.data
  const command = { type: 'EraseContact', contactId: id, erasureId } as const
  const closing = await close(ports, { decider: contact, id, command, by: 'ContactErased', cause: causeOf(event, id) })
  const position = closing?.position ?? beginning
  await ports.removeSnapshot(streamOf(contact, id), position)
  return position
}

/** Its remarks are closed even where it has none: nobody who is in the midst of a report can make one any more. */
const eraseEngagement = async (
  ports: EraserPorts,
  event: Requested,
  id: EngagementId,
  stopping: AbortSignal,
): Promise<Position> => {
  const { store, commandHandler } = ports
  const command = { type: 'EraseEngagement', at: event.time } as const
  const done = await commandHandler.execute(engagement, id, command, causeOf(event, id))
  const { events, state } = executedOrThrow('the end of an engagement', done)
  await eraseLastMessage(ports, state, event.time, erasureOf(ports, event, stopping))
  const { account_id: accountId, contact_id: contactId } = event.data
  const erase = { type: 'EraseRemarks', engagementId: id, accountId, contactId } as const
  const cause = causeOf(event, `${id}/remarks`)
  const closing = await close(ports, { decider: remark, id, command: erase, by: 'RemarksErased', cause })
  await ports.removeSnapshot(streamOf(remark, id), closing?.position ?? beginning)
  const last = events.length > 0 ? events : orThrow(await store.readLast(streamOf(engagement, id), 1))
  return last.at(-1)?.position ?? beginning
}

const erasureOf = (ports: EraserPorts, event: Requested | LateMessage, stopping: AbortSignal): MessageErasure => ({
  causeOf: (what) => causeOf(event, what),
  numberOf: () => numberOf(ports, event.data.contact_id, stopping),
  stopping,
})

/** The contact does not know it any more. Its leads do, which are closed after all messages. */
const numberOf = async (
  { documents, store }: EraserPorts,
  id: ContactId,
  stopping: AbortSignal,
): Promise<string | undefined> => {
  for await (const leads of entriesOf(documents, id, 'lead', stopping)) {
    for (const entry of leads) {
      const { events } = orThrow(await store.read(streamOf(lead, String(entry['lead_id'])), 0, 1))
      const [first] = events
      if (first?.type === 'LeadSubmitted') return first.data.details.phone
    }
  }
  return undefined
}

const eraseLead = async (ports: EraserPorts, event: Requested | LateLead, id: LeadId): Promise<Position> => {
  const { events } = orThrow(await ports.store.read(streamOf(lead, id)))
  const submitted = events.find(({ type }) => type === 'LeadSubmitted')
  const { erasure_id: erasureId } = event.data
  const command = { type: 'EraseLead', erasureId, submittedAt: submitted?.time ?? event.time } as const
  const closing = await close(ports, { decider: lead, id, command, by: 'LeadErased', cause: causeOf(event, id) })
  return closing?.position ?? beginning
}

const eraseDeliveries = async (
  ports: EraserPorts,
  event: Requested,
  stopping: AbortSignal,
): Promise<ErasureSummary & { readonly mayBeUnderWay: boolean }> => {
  const at = ports.clock.now()
  const why = { why: 'contact-erased', at, causeOf: (id: string) => causeOf(event, id), stopping } as const
  let mayBeUnderWay = false
  const told = new Map<WebhookId, number>()
  const dropped: Array<DeliveryId> = []
  let droppedCount = 0
  const counted = new Set<DeliveryId>()
  for await (const entries of entriesOf(ports.documents, event.data.contact_id, 'delivery', stopping)) {
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

/** The same events whoever erases, and however often: they follow from the request. */
const causeOf = (event: ProjectedEvent, what: string): Cause => ({
  actor: 'eraser',
  event,
  at: event.time,
  eventId: (index) => derivedEventId(event.id, what, index),
})

const wasReceived = ({ history, under_way }: ErasedDelivery): boolean =>
  under_way === true || history.some(({ outcome }) => outcome !== undefined && mayHaveReceived(outcome))

const furthest = (one: Position, others: ReadonlyArray<Position>): Position =>
  others.reduce((newest, position) => (position > newest ? position : newest), one)
