import { foldStream, newAggregate, type Aggregate, type CausingEvent } from '../../domain/aggregate.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import type { SnapshotFormat } from '../../domain/decider.js'
import type { DomainEvent, RecordedEvent } from '../../domain/events.js'
import type { Appended, Conflict, EventStore, NewEvent, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Snapshots } from './snapshots.js'

/** The part of a decider that a stream is folded with. */
export type Evolver<State, Event> = {
  readonly initial: State
  readonly evolve: (state: State, event: Event) => State
  readonly snapshot?: SnapshotFormat<State>
}

/** An append, and the state after it. */
type AppendedState<State> = Appended & { readonly state: State }

/** Loads aggregates for the command handler, and appends what it decided. */
export type Aggregates = {
  /** Gives `assumed` itself, where it is given and a read would be needed. */
  readonly load: <State, Event extends DomainEvent>(
    evolver: Evolver<State, Event>,
    stream: string,
    assumed?: Aggregate<State>,
  ) => Promise<Either<StoreFailure, Aggregate<State>>>

  /** Appends at the revision of `aggregate`. */
  readonly append: <State, Event extends DomainEvent>(
    evolver: Evolver<State, Event>,
    stream: string,
    aggregate: Aggregate<State>,
    events: readonly [NewEvent, ...ReadonlyArray<NewEvent>],
  ) => Promise<Either<StoreFailure | Conflict, AppendedState<State>>>
}

type Store = Pick<EventStore, 'read' | 'readLast' | 'append'>

/** A stream with fewer events is read at once; of a longer one so many of the newest. */
const recentEvents = 100

/** Events after a snapshot that are worth another, and about how many bytes of them are. */
const snapshotInterval = 50
const snapshotBytes = 500_000

export type MayHaveSnapshots = { readonly snapshot?: unknown }

/**
 * Whether an append has crossed a multiple of `snapshotInterval`: loading the stream then leaves a snapshot for the
 * next start.
 */
export const needsSnapshot = ({ snapshot }: MayHaveSnapshots, revision: number, appended: number): boolean =>
  snapshot !== undefined && revision >= recentEvents && revision % snapshotInterval < appended

/** Aggregates as the store has them: each one is read and folded, that of a long stream from its snapshot on. */
export const storedAggregates = (store: Store, snapshots: Snapshots): Aggregates => ({
  load: (evolver, stream, assumed) => {
    if (assumed !== undefined) return Promise.resolve(E.right(assumed))
    const { snapshot: format } = evolver
    return format === undefined
      ? loadWhole(store, evolver, stream)
      : loadLong({ store, snapshots }, evolver, format, stream)
  },
  append: async (evolver, stream, { state, revision }, events) => {
    const appended = await store.append(stream, revision, events)
    return E.isLeft(appended) ? appended : E.right({ state: foldStream(evolver, events, state), ...appended.right })
  },
})

const loadWhole = async <State, Event extends DomainEvent>(
  store: Store,
  evolver: Evolver<State, Event>,
  stream: string,
): Promise<Either<StoreFailure, Aggregate<State>>> => {
  const read = await store.read(stream)
  return E.isLeft(read) ? read : E.right(after(evolver, newAggregate(evolver), read.right.events))
}

/** However long the stream is, and however large its events are, this reads few bytes, unless its snapshot was lost. */
const loadLong = async <State, Event extends DomainEvent>(
  { store, snapshots }: { readonly store: Store; readonly snapshots: Snapshots },
  evolver: Evolver<State, Event>,
  format: SnapshotFormat<State>,
  stream: string,
): Promise<Either<StoreFailure, Aggregate<State>>> => {
  const known = snapshots.inMemory(format, stream)
  const read =
    (known && (await readSince(store, known, stream, []))) ?? (await readFromStore(store, snapshots, format, stream))
  if (E.isLeft(read)) return read
  const { since, events } = read.right
  const loaded = after(evolver, since ?? newAggregate(evolver), events)
  const newest = events.at(-1)
  const isWorthOne = events.length >= snapshotInterval || approximateBytes(events) >= snapshotBytes
  if (isWorthOne && newest !== undefined) {
    const { revision, id, correlationId, position } = newest
    snapshots.save(format, stream, { state: loaded.state, revision, last: { id, correlationId } }, position)
  }
  return E.right(loaded)
}

/** Events of a stream: all, or those since a snapshot. */
type EventsRead<State> = { readonly since: Aggregate<State> | undefined; readonly events: ReadonlyArray<RecordedEvent> }

const readFromStore = async <State>(
  store: Store,
  snapshots: Snapshots,
  format: SnapshotFormat<State>,
  stream: string,
): Promise<Either<StoreFailure, EventsRead<State>>> => {
  const recent = await store.readLast(stream, recentEvents)
  if (E.isLeft(recent)) return recent
  if (recent.right.length < recentEvents) return E.right({ since: undefined, events: recent.right })
  const saved = await snapshots.find(format, stream)
  const newer = saved && (await readSince(store, saved, stream, recent.right))
  if (newer !== undefined) return newer
  const whole = await store.read(stream)
  return E.isLeft(whole) ? whole : E.right({ since: undefined, events: whole.right.events })
}

/**
 * The events after a snapshot. The stream must hold, at its revision, the very event that the snapshot names: undefined
 * where it does not, since the snapshot is of another log, or the stream was erased.
 */
const readSince = async <State>(
  store: Store,
  since: Aggregate<State> & { readonly revision: number; readonly last: CausingEvent },
  stream: string,
  recent: ReadonlyArray<RecordedEvent>,
): Promise<Either<StoreFailure, EventsRead<State>> | undefined> => {
  const { revision, last } = since
  const isRecent = recent[0] !== undefined && recent[0].revision <= revision
  const read = isRecent ? E.right({ events: recent }) : await store.read(stream, revision)
  if (E.isLeft(read)) return read
  const at = read.right.events.findIndex((event) => event.revision === revision && event.id === last.id)
  return at === -1 ? undefined : E.right({ since, events: read.right.events.slice(at + 1) })
}

const after = <State, Event extends DomainEvent>(
  evolver: Evolver<State, Event>,
  { state, revision, last }: Aggregate<State>,
  events: ReadonlyArray<RecordedEvent>,
): Aggregate<State> => ({
  state: foldStream(evolver, events, state),
  revision: events.at(-1)?.revision ?? revision,
  last: causingEventOf(events.at(-1)) ?? last,
})

export const causingEventOf = (event: CausingEvent | undefined): CausingEvent | undefined =>
  event === undefined ? undefined : { id: event.id, correlationId: event.correlationId }
