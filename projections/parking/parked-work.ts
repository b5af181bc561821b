import type { RecordedEvent } from '../../domain/events.js'
import type { ParkedEventId } from '../../domain/ids.js'
import { parkedEvent, type ParkedEventCommand } from '../../domain/parked-event.js'
import type { EventStore } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { idIn, idOf, streamOf } from '../../domain/stream-name.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { FailedForGood } from '../subscriptions/retries/failed-for-good.js'
import { executeWithRetry, type RetryPorts } from '../subscriptions/retries/retried-command.js'
import { exceptionsInARow } from './exceptions-in-a-row.js'
import { executedOrThrow } from './final-failure.js'
import { forgetSkipped } from './not-set-aside.js'
import { parkedAnew, parkedFacts, parkedStateOf, tellParked, type Parkable } from './parking.js'
import { streamEnds } from './stream-ends.js'

/**
 * Work under a lease that is parked, by the id of its stream. It lasts as long as the lease: the next holder tries it
 * all once.
 */
export type ParkedUnderLease = {
  readonly lease: Lease
  /** Must not be begun, although a read model shows it as due. */
  readonly setAside: Map<string, ParkedEventId>
  /** To be tried again, since somebody asked for it: how it ends is recorded. */
  readonly retried: Map<string, ParkedEventId>
}

type Worker<Holder> = {
  /** Parked events are known by it, so it stays as it is. */
  readonly name: string
  readonly actor: string
  /** The stream that records how the work of an id ended, and the id whose stream it is. */
  readonly streamOf: (id: string) => string
  readonly idIn: (stream: string) => string | undefined
  /** Where work is done that needs the stream, which begins with `first`; undefined where another process does it. */
  readonly holderOf: (stream: string, first: RecordedEvent | undefined) => Holder | undefined
  /**
   * Whether nothing is set aside for the stream, since much other work needs it: that is put off, and comes by itself.
   */
  readonly isNeededByOthers?: (stream: string) => boolean
}

/** Work whose ends are all recorded in the streams of one decider. */
export const recordedBy = (decider: { readonly category: string }): Pick<Worker<unknown>, 'streamOf' | 'idIn'> => ({
  streamOf: (id) => streamOf(decider, id),
  idIn: (stream) => idIn(decider, stream),
})

export type ParkedWorkPorts = RetryPorts & { readonly store: Pick<EventStore, 'read' | 'readLast'> }

export type ParkedWork<Holder> = {
  /**
   * What the work failed with, where that is for good.
   * @throws `error` where trying again may help, and where it may come of a lease that is ending
   */
  readonly finalFailure: (holder: Holder, id: string, error: unknown) => FailedForGood
  /**
   * Sets the work aside, and parks the newest event of the stream that it failed on; where that was parked, records
   * that the retry has failed.
   * @throws where the lease is lost before, and where the store fails
   */
  readonly failed: (holder: Holder, id: string, error: FailedForGood) => Promise<void>
  /**
   * Parks it, and sets nothing aside.
   * @throws as `failed`
   */
  readonly park: (holder: Holder, error: FailedForGood) => Promise<void>
  /**
   * The exceptions before it count no more, and where there was a retry it is recorded that it has succeeded.
   * @throws where the lease is lost before
   */
  readonly succeeded: (holder: Holder, id: string) => Promise<void>
  /**
   * Releases what is set aside where the event says that somebody asked for its retry. Resolves with the holder of it;
   * undefined where there is none.
   * @throws StoreFailed
   */
  readonly release: (event: RecordedEvent) => Promise<Holder | undefined>
}

/** Of a stream whose newest event can't be decoded its id is all that is known. */
const newestOf = async (store: Pick<EventStore, 'readLast'>, stream: string): Promise<Parkable> => {
  const last = await store.readLast(stream, 1)
  const newest = E.isLeft(last) && last.left.kind === 'corrupt' ? undefined : orThrow(last)[0]
  return newest ?? { id: idOf(stream), type: 'unknown', stream }
}

/** What is recorded of what was parked under a lease. */
export const parkedRecords = <Holder>(
  { name, actor }: Pick<Worker<Holder>, 'name' | 'actor'>,
  ports: ParkedWorkPorts,
) => {
  const { store, commandHandler, ids, logger } = ports

  const executed = async (lease: Lease, id: ParkedEventId, command: ParkedEventCommand) =>
    executedOrThrow('a parked event', await executeWithRetry(ports, { actor, lease }, parkedEvent, id, command))

  return {
    park: async (lease: Lease, { stream, message: reason }: FailedForGood): Promise<ParkedEventId> => {
      const event = await newestOf(store, stream)
      return parkedAnew(parkedFacts(name, event, reason), async (facts) => {
        const { state, events } = await executed(lease, facts.parked_event_id, { type: 'ParkEvent', facts })
        if (events.length > 0) tellParked(logger, facts)
        // What was handled stays so: the same event that fails anew is parked anew.
        return state.kind === 'handled' ? undefined : facts.parked_event_id
      })
    },
    recordRetry: async (lease: Lease, id: ParkedEventId, failure: string | undefined): Promise<void> => {
      const { events } = await executed(lease, id, { type: 'RecordRetry', failure })
      if (events.length > 0) logger.info({ follower: name, parked: id, failure }, 'a parked event was tried again')
    },
    /** Answers without doing the work, where the stream tells how that ends. */
    answer: async (id: ParkedEventId, failure: string | undefined): Promise<void> => {
      const envelope = { actor, cause: 'last-of-stream', eventId: ids.uuid } as const
      const command = { type: 'RecordRetry', failure } as const
      executedOrThrow('a retry', await commandHandler.execute(parkedEvent, id, command, envelope))
      logger.info({ follower: name, parked: id, failure }, 'a parked event was tried again')
    },
  }
}

/** What fails for good, as `FailedForGood` says: to do it again and again would help nobody. */
export const parkedWork = <Holder extends ParkedUnderLease>(
  worker: Worker<Holder>,
  ports: ParkedWorkPorts,
): ParkedWork<Holder> => {
  const { name, holderOf, isNeededByOthers = () => false } = worker
  const { park, recordRetry, answer } = parkedRecords(worker, ports)
  const exceptions = exceptionsInARow()

  const retry = async (parked: ParkedEventId): Promise<Holder | undefined> => {
    const state = await parkedStateOf(ports, name, parked)
    // It comes again after a crash, when its end may have been recorded.
    if (state?.kind !== 'retrying') return undefined
    const { event_stream, event_id } = state.facts
    const ends = await streamEnds(ports, event_stream)
    if (E.isLeft(ends) && ends.left.kind === 'corrupt') {
      await answer(parked, ends.left.reason)
      return undefined
    }
    const { first, lastId } = orThrow(ends)
    if (isNeededByOthers(event_stream)) {
      await answer(parked, undefined)
      return undefined
    }
    const holder = holderOf(event_stream, first)
    if (holder === undefined) return undefined
    const released = [...holder.setAside].flatMap(([id, by]) => (by === parked ? [id] : []))
    for (const id of released) holder.setAside.delete(id)
    forgetSkipped(holder.setAside)
    const id = worker.idIn(event_stream)
    // What it failed on can be read again, or somebody has recorded since how the work ended.
    if (id === undefined || (released.length === 0 && lastId !== event_id)) await answer(parked, undefined)
    else holder.retried.set(id, parked)
    return holder
  }

  return {
    finalFailure: ({ lease }, id, error) => {
      // Exceptions break off the work of a lease that is ending; what can't be read no holder can read.
      if (isEnding(lease) && !(error instanceof FailedForGood)) throw error
      return exceptions.finalFailure(worker.streamOf(id), error)
    },
    park: async ({ lease }, error) => {
      await park(lease, error)
    },
    failed: async ({ lease, setAside, retried }, id, error) => {
      const asked = retried.get(id)
      const parked = asked ?? (await park(lease, error))
      // Somebody has asked for its retry as soon as it was parked.
      if (asked === undefined && retried.has(id)) return
      retried.delete(id)
      setAside.set(id, parked)
      await recordRetry(lease, parked, error.message)
    },
    succeeded: async ({ lease, retried }, id) => {
      exceptions.succeeded(worker.streamOf(id))
      const asked = retried.get(id)
      if (asked === undefined) return
      retried.delete(id)
      await recordRetry(lease, asked, undefined)
    },
    release: (event) =>
      event.type === 'ParkedEventRetryRequested' && event.data.process_manager === name
        ? retry(event.data.parked_event_id)
        : Promise.resolve(undefined),
  }
}
