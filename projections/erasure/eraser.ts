import { neverAborted } from '../../domain/abortable.js'
import { contact } from '../../domain/contact.js'
import { derivedEventId } from '../../domain/derived-id.js'
import { engagement } from '../../domain/engagement.js'
import { erasure } from '../../domain/erasure.js'
import { beginning, furthest, type Position } from '../../domain/event.js'
import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { AccountId, ContactId, EngagementId, LeadId } from '../../domain/ids.js'
import { lead } from '../../domain/lead.js'
import { parkedEvent } from '../../domain/parked-event.js'
import { remark } from '../../domain/remark.js'
import type { EnvelopeFacts, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { sharedRun } from '../../domain/shared-run.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { executedOrThrow } from '../parking/final-failure.js'
import { parking } from '../parking/parking.js'
import { streamEnds } from '../parking/stream-ends.js'
import type { Documents } from '../ports.js'
import type { Checkpoint } from '../subscriptions/checkpoint.js'
import { caughtUp, type AwaitedFollower } from './caught-up.js'
import { close } from './stream-closing.js'
import { closingCommandOf } from './contact-closing.js'
import type { ConcurrentFollower } from '../subscriptions/concurrent/concurrent-follower.js'
import { entriesOf } from './contact-entries.js'
import { eraseLastMessage, eraseMessage, eraseMessages, type MessageErasure } from './erased-messages.js'
import { eraseDeliveries, type DeliveryErasurePorts } from './erased-deliveries.js'
import type { CopyPorts } from './found-copies.js'

type EraserPorts = DeliveryErasurePorts &
  CopyPorts & {
    readonly store: EventStore
    readonly documents: Pick<Documents, 'find' | 'get' | 'purge'>
    /** Removes what is kept beside the log of a stream. */
    readonly removeSnapshot: (stream: string, position: Position) => Promise<void>
    /** Begin what follows from a lead that the contact has engaged. */
    readonly reactions: AwaitedFollower
    /** Makes deliveries due, with what it knew of the contact. */
    readonly deliveryFanOut: AwaitedFollower
    /** Shows all that a contact has: its leads with their engagements, and its deliveries. */
    readonly timeline: AwaitedFollower
    /** Shows what was written to a contact and by it. */
    readonly messages: AwaitedFollower
    readonly checkpoint: Checkpoint
  }

/**
 * In milliseconds: an attempt that was begun before its delivery was dropped has ended after that (contract 6.6.1),
 * with its record.
 */
const longestAttempt = 7_000

type Requested = EventOf<'ErasureRequested'>
type LateMessage = EventOf<'LateMessageFound'>
type LateLead = EventOf<'LateLeadFound'>

/** Its checkpoint, lease and parked events are stored under this name, so it stays as it is. */
export const eraserName = 'eraser'

/**
 * Erasures at once, and of one account: one that hangs, as with an attempt that may be under way, leaves places to
 * those of others.
 */
const places = { most: 16, mostOfAccount: 4 }

/** Whose work it is where nothing tells: it shares the places of one account. */
const nobody = 'nobody' as AccountId

/**
 * The process manager of erasures: a request in, and closing events out for every stream that holds something of the
 * contact, which it truncates then. Each step can be repeated.
 */
export const eraser = (ports: EraserPorts): ConcurrentFollower => {
  const { store, documents, checkpoint } = ports
  // Where somebody reads what was removed it stays in a file for now: whoever asks for the erasure again is told so.
  const purge = sharedRun(async () => {
    for (const one of [store.purge, documents.purge]) orThrow(await one())
  })

  const work = async (event: RecordedEvent, isRetry: boolean, stopping: AbortSignal): Promise<void> => {
    if (event.type === 'ErasureRequested') await erase(ports, event, stopping)
    else if (event.type === 'LateLeadFound') await eraseLead(ports, event, event.data.lead_id)
    else if (event.type === 'LateMessageFound') {
      const { erasure_id: _erasure, ...ids } = event.data
      await eraseMessage(ports, ids, event.time, erasureOf(ports, event, stopping))
    } else {
      // A stream that retention could not read is parked by its newest event: the retry answers whether it can be read
      // now.
      if (isRetry) orThrow(await streamEnds(ports, event.stream))
      return
    }
    await purge()
  }
  const parkingUntil = (stopping: AbortSignal) =>
    parking({ name: eraserName, actor: 'eraser', work: (event, isRetry) => work(event, isRetry, stopping) }, ports)

  return {
    name: eraserName,
    categories: ['erasure', 'parked'],
    checkpoint,
    places,
    workOf: async (event) => {
      const stream = await workedStreamOf(ports, event)
      return stream === undefined ? undefined : { subject: stream, account_id: await accountOf(ports, event, stream) }
    },
    handle: (event, stopping) => parkingUntil(stopping).handle(event),
    skip: parkingUntil(neverAborted).skip,
  }
}

/** The stream of the erasure that an event is work of, one for each contact; of a retry that of the parked event. */
const workedStreamOf = async ({ commandHandler }: EraserPorts, event: RecordedEvent): Promise<string | undefined> => {
  switch (event.type) {
    case 'ErasureRequested':
    case 'LateLeadFound':
    case 'LateMessageFound':
      return event.stream
    case 'ParkedEventRetryRequested': {
      if (event.data.process_manager !== eraserName) return undefined
      const parked = decoded(await commandHandler.load(parkedEvent, event.data.parked_event_id))?.state
      return parked === undefined || parked.kind === 'unknown' ? event.stream : parked.facts.event_stream
    }
    default:
      return undefined
  }
}

const accountOf = async ({ store }: EraserPorts, { data }: RecordedEvent, stream: string): Promise<AccountId> => {
  if ('account_id' in data) return data.account_id
  const first = decoded(await store.read(stream, 0, 1))?.events[0]
  return first !== undefined && 'account_id' in first.data ? first.data.account_id : nobody
}

/** Undefined where it can't be decoded. @throws StoreFailed where it may be read later */
const decoded = <A>(read: Either<StoreFailure, A>): A | undefined =>
  E.isLeft(read) && read.left.kind === 'corrupt' ? undefined : orThrow(read)

/**
 * In this order, so that nothing is added later: no lead joins the contact any more, nothing is recorded of its
 * engagements, the fan-out has passed all that was, and what that made due is dropped. What is known to be due is
 * dropped first: the rest may take long.
 */
const erase = async (ports: EraserPorts, event: Requested, stopping: AbortSignal): Promise<void> => {
  const { commandHandler, documents, reactions, timeline, deliveryFanOut, monotonic } = ports
  const { contact_id: contactId, erasure_id: erasureId } = event.data
  // It comes again where one before it had not ended, and would wait for attempts once more.
  const { state } = orThrow(await commandHandler.load(erasure, erasureId))
  if (state.kind === 'completed') return
  const dropping = { why: 'contact-erased', envelopeOf: (id: string) => envelopeOf(event, id), stopping } as const
  let newest = await closeContact(ports, event)
  await eraseDeliveries(ports, contactId, dropping)
  await caughtUp(monotonic, reactions, newest, stopping)
  await caughtUp(monotonic, timeline, newest, stopping)
  for await (const leads of entriesOf(documents, contactId, 'lead', stopping)) {
    const ends = leads.map((entry) =>
      eraseEngagement(ports, event, entry['next_engagement_id'] as EngagementId, stopping),
    )
    newest = furthest(newest, ...(await Promise.all(ends)))
  }
  await caughtUp(monotonic, deliveryFanOut, newest, stopping)
  await caughtUp(monotonic, ports.messages, newest, stopping)
  await eraseMessages(ports, event.data, erasureOf(ports, event, stopping))
  for await (const leads of entriesOf(documents, contactId, 'lead', stopping)) {
    const ends = leads.map((entry) => eraseLead(ports, event, entry['lead_id'] as LeadId))
    newest = furthest(newest, ...(await Promise.all(ends)))
  }
  // The fan-out made its last deliveries due before the leads were closed, so a timeline that shows their ends shows
  // these too.
  await caughtUp(monotonic, timeline, newest, stopping)
  const { mayBeUnderWay, ...summary } = await eraseDeliveries(ports, contactId, dropping)
  if (mayBeUnderWay) await monotonic.sleep(longestAttempt, stopping)
  stopping.throwIfAborted()
  const command = { type: 'CompleteErasure', summary } as const
  const envelope = envelopeOf(event, 'completed')
  const done = await commandHandler.execute(erasure, erasureId, command, envelope)
  executedOrThrow('the end of an erasure', done)
}

const closeContact = async (ports: EraserPorts, event: Requested): Promise<Position> => {
  const { contact_id: id, erasure_id: erasureId } = event.data
  const command = orThrow(await closingCommandOf(ports.store, id, erasureId))
  const envelope = envelopeOf(event, id)
  const closing = await close(ports, { decider: contact, id, command, by: 'ContactErased', envelope })
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
  const done = await commandHandler.execute(engagement, id, command, envelopeOf(event, id))
  const { events, state } = executedOrThrow('the end of an engagement', done)
  await eraseLastMessage(ports, state, event.time, erasureOf(ports, event, stopping))
  const { account_id: accountId, contact_id: contactId } = event.data
  const erase = { type: 'EraseRemarks', engagementId: id, accountId, contactId } as const
  const envelope = envelopeOf(event, `${id}/remarks`)
  const closing = await close(ports, { decider: remark, id, command: erase, by: 'RemarksErased', envelope })
  await ports.removeSnapshot(streamOf(remark, id), closing?.position ?? beginning)
  const last = events.length > 0 ? events : orThrow(await store.readLast(streamOf(engagement, id), 1))
  return last.at(-1)?.position ?? beginning
}

const erasureOf = (ports: EraserPorts, event: Requested | LateMessage, stopping: AbortSignal): MessageErasure => ({
  envelopeOf: (what) => envelopeOf(event, what),
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
  const closing = await close(ports, { decider: lead, id, command, by: 'LeadErased', envelope: envelopeOf(event, id) })
  return closing?.position ?? beginning
}

/** The same ids and times whoever erases, and however often: they follow from the request. */
const envelopeOf = (event: RecordedEvent, what: string): EnvelopeFacts => ({
  actor: 'eraser',
  cause: event,
  at: event.time,
  eventId: (index) => derivedEventId(event.id, what, index),
})
