import type { Aggregate, CausingEvent } from '../../domain/aggregate.js'
import { fold } from '../../domain/decider.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Appended, Conflict, EventStore, NewEvent, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'

/** The part of a decider that a stream is folded with. */
export type Evolver<State, Event> = {
  readonly initial: State
  readonly evolve: (state: State, event: Event) => State
}

/** An append, and the state after it. */
type AppendedState<State> = Appended & { readonly state: State }

/** Loads aggregates for the command handler, and appends what it decided. */
export type Aggregates = {
  /** Whether `load` needs no read: then nothing has to be assumed. */
  readonly isCached: (stream: string) => boolean

  readonly load: <State, Event extends DomainEvent>(
    evolver: Evolver<State, Event>,
    stream: string,
  ) => Promise<Either<StoreFailure, Aggregate<State>>>

  /** Appends at the revision of `aggregate`. */
  readonly append: <State, Event extends DomainEvent>(
    evolver: Evolver<State, Event>,
    stream: string,
    aggregate: Aggregate<State>,
    events: readonly [NewEvent, ...ReadonlyArray<NewEvent>],
  ) => Promise<Either<StoreFailure | Conflict, AppendedState<State>>>
}

/** Aggregates as the store has them: each one is read and folded. */
export const storedAggregates = (store: Pick<EventStore, 'read' | 'append'>): Aggregates => ({
  isCached: () => false,
  load: async (evolver, stream) => {
    const read = await store.read(stream)
    if (E.isLeft(read)) return read
    const { events, revision } = read.right
    return E.right({ state: folded(evolver, evolver.initial, events), revision, last: causeOf(events.at(-1)) })
  },
  append: async (evolver, stream, { state, revision }, events) => {
    const appended = await store.append(stream, revision, events)
    return E.isLeft(appended) ? appended : E.right({ ...appended.right, state: folded(evolver, state, events) })
  },
})

/** A stream holds the events of its own decider. */
const folded = <State, Event extends DomainEvent>(
  evolver: Evolver<State, Event>,
  state: State,
  events: ReadonlyArray<DomainEvent>,
): State => fold(evolver, state, events as unknown as ReadonlyArray<Event>)

export const causeOf = (event: CausingEvent | undefined): CausingEvent | undefined =>
  event === undefined ? undefined : { id: event.id, correlationId: event.correlationId }
