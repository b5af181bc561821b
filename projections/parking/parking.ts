import { newAggregate } from '../../domain/aggregate.js'
import { derivedEventId, parkedEventIdOf } from '../../domain/derived-id.js'
import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { ParkedEventId } from '../../domain/ids.js'
import { parkedEvent, type ParkedEventFacts, type ParkedEventState } from '../../domain/parked-event.js'
import type { CommandHandler, EventStore, Logger, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow, StoreFailed, type UndecodableEntry } from '../../domain/store-failed.js'
import { idIn } from '../../domain/stream-name.js'
import { executedOrThrow, finalReason } from './final-failure.js'

/** What turns events into work, one by one. */
type EventHandling = {
  /** Of the process manager: parked events are known by it, so it stays as it is. */
  readonly name: string
  readonly actor: string
  /**
   * Does what the event asks for; a repeat changes nothing. `isRetry`: it was parked, and comes later than its place in
   * the log.
   * @throws StoreFailed, `unavailable`, where it may succeed later; anything else where it never will
   */
  readonly work: (event: RecordedEvent, isRetry: boolean) => Promise<void>
}

/** An event of the log, whether it can be decoded or not. `revision` is left out where nobody can tell. */
export type Parkable = Pick<UndecodableEntry, 'id' | 'type' | 'stream'> & Partial<Pick<UndecodableEntry, 'revision'>>

type Parking = {
  /**
   * Handles an event. One that can't succeed is parked; one that asks for a retry has its parked event tried again.
   * @throws StoreFailed where it, or its parking, may succeed later
   */
  readonly handle: (event: RecordedEvent) => Promise<void>
  /** Parks an event that can't be decoded. */
  readonly skip: (undecodable: UndecodableEntry) => Promise<void>
}

type ParkingPorts = {
  readonly store: Pick<EventStore, 'read'>
  readonly commandHandler: CommandHandler
  readonly logger: Logger
}

/** Records of one event that can't be read, after which parking fails: then it is the store that can't take any. */
const mostUnreadable = 3

export const parkedFacts = (
  process_manager: string,
  { id, type, stream, revision }: Parkable,
  reason: string,
): ParkedEventFacts => ({
  parked_event_id: parkedEventIdOf(process_manager, id),
  process_manager,
  event_id: id,
  event_type: type,
  event_stream: stream,
  ...(revision === undefined ? {} : { event_revision: revision }),
  reason,
})

/**
 * The state of a parked event. Undefined where it can't be decoded, as where a newer version wrote it: to throw would
 * have all other work wait for it. `by`: who handles the retry.
 * @throws StoreFailed where it may be read later
 */
export const parkedStateOf = async (
  { commandHandler, logger }: Pick<ParkingPorts, 'commandHandler' | 'logger'>,
  by: string,
  id: ParkedEventId,
): Promise<ParkedEventState | undefined> => {
  const loaded = await commandHandler.load(parkedEvent, id)
  if (E.isRight(loaded) || loaded.left.kind !== 'corrupt') return orThrow(loaded).state
  logger.error({ follower: by, parked: id, reason: loaded.left.reason }, 'a retry can not be read')
  return undefined
}

/**
 * Parks an event by `park`, and resolves with the id of the record. Where `park` resolves with undefined, or the record
 * can't be read, the next id is tried.
 * @throws what `park` throws otherwise
 */
export const parkedAnew = async (
  facts: ParkedEventFacts,
  park: (facts: ParkedEventFacts) => Promise<ParkedEventId | undefined>,
): Promise<ParkedEventId> => {
  let unreadable = 0
  for (let id = facts.parked_event_id; ; id = parkedEventIdOf(facts.process_manager, id)) {
    try {
      const parked = await park({ ...facts, parked_event_id: id })
      if (parked !== undefined) return parked
    } catch (error) {
      unreadable += 1
      if (!(error instanceof StoreFailed && error.kind === 'corrupt') || unreadable > mostUnreadable) throw error
    }
  }
}

/** Events that are looked through at once for one of which nobody has recorded where it stands. */
const pageSize = 500

/** The event that was parked; undefined where it was erased since. */
const parkedIn = async (
  { read }: Pick<EventStore, 'read'>,
  { event_stream, event_id, event_revision }: ParkedEventFacts,
): Promise<Either<StoreFailure, RecordedEvent | undefined>> => {
  const count = event_revision === undefined ? pageSize : 1
  for (let from = event_revision ?? 0; ;) {
    const page = await read(event_stream, from, count)
    if (E.isLeft(page)) return page
    const { events, revision } = page.right
    const event = events.find(({ id }) => id === event_id)
    if (event !== undefined || event_revision !== undefined || revision === 'no-stream') return E.right(event)
    from = revision + 1
  }
}

export const tellParked = (logger: Logger, facts: ParkedEventFacts): void => {
  const { process_manager: follower, parked_event_id: parked, event_id: event, event_type: type, reason } = facts
  logger.error({ follower, parked, event, type, reason }, 'an event was parked')
}

/**
 * Keeps one event from holding up all others: what a process manager can't handle, however often it tries, is recorded
 * in a stream of its own, and the process manager goes on.
 */
export const parking = ({ name, actor, work }: EventHandling, ports: ParkingPorts): Parking => {
  const { store, commandHandler, logger } = ports

  const park = async (event: Parkable, reason: string): Promise<void> => {
    await parkedAnew(parkedFacts(name, event, reason), async (facts) => {
      const { parked_event_id: id } = facts
      const envelope = { actor, eventId: (index: number): string => derivedEventId(event.id, id, index) }
      const command = { type: 'ParkEvent', facts } as const
      const done = await commandHandler.execute(parkedEvent, id, command, envelope, newAggregate(parkedEvent))
      if (executedOrThrow('the parking of an event', done).events.length > 0) tellParked(logger, facts)
      return id
    })
  }

  /** Why the event can't be handled; undefined where it was. */
  const failureOf = async (event: RecordedEvent, isRetry: boolean): Promise<string | undefined> => {
    try {
      await work(event, isRetry)
      return undefined
    } catch (error) {
      return finalReason(error)
    }
  }

  const retried = async (facts: ParkedEventFacts): Promise<string | undefined> => {
    const read = await parkedIn(store, facts)
    if (E.isLeft(read) && read.left.kind === 'corrupt') return read.left.reason
    const event = orThrow(read)
    // Whatever followed from it was erased with it.
    return event === undefined ? undefined : failureOf(event, true)
  }

  const retry = async (request: EventOf<'ParkedEventRetryRequested'>): Promise<void> => {
    const { parked_event_id, process_manager } = request.data
    if (process_manager !== name) return
    const state = await parkedStateOf(ports, name, parked_event_id)
    // It comes again after a crash, when its end may have been recorded.
    if (state?.kind !== 'retrying') return
    const failure = await retried(state.facts)
    const eventId = (index: number): string => derivedEventId(request.id, parked_event_id, index)
    const command = { type: 'RecordRetry', failure } as const
    const envelope = { actor, cause: request, eventId }
    executedOrThrow('a retry', await commandHandler.execute(parkedEvent, parked_event_id, command, envelope))
    logger.info({ follower: name, parked: parked_event_id, failure }, 'a parked event was tried again')
  }

  return {
    handle: async (event) => {
      if (event.type === 'ParkedEventRetryRequested') return retry(event)
      // Nothing else follows from what was parked; to park that too would never end.
      if (idIn(parkedEvent, event.stream) !== undefined) return
      const reason = await failureOf(event, false)
      if (reason !== undefined) await park(event, reason)
    },
    skip: (undecodable) => park(undecodable, undecodable.failure.reason),
  }
}
