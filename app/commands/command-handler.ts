import { fold, streamOf, type Decider } from '../../domain/decider.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Recorded } from '../../domain/event.js'
import type {
  AnyCommand,
  Antecedent,
  Appended,
  Cause,
  Clock,
  Dispatch,
  EventStore,
  NewEvent,
  Outcome,
  StoreFailure,
} from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { schemaVersion } from '../../domain/upcast.js'
import type { Known, KeptStreams } from './aggregate-cache.js'

/** Conflicts come from other processes only: within this one, commands for a stream wait for each other. */
const maximalTries = 4

/** A stream as it was read; no events where it was not. */
type Loaded<State> = Known<State> & { readonly events: ReadonlyArray<Recorded<DomainEvent>> }

type DispatchPorts = {
  readonly store: EventStore
  readonly clock: Clock
  readonly kept: KeptStreams
  /** Whether other processes write to the store too: then what is kept may be behind, and decides no refusal. */
  readonly isShared: boolean
}

/** Reads, folds, decides, appends at the revision read; a conflict is decided again a few times. */
export const dispatcher = ({ store, clock, kept, isShared }: DispatchPorts): Dispatch => {
  const turns = new Map<string, Promise<unknown>>()

  const load = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    stream: string,
  ): Promise<Either<StoreFailure, Loaded<State>>> => {
    const read = await store.read(stream)
    if (E.isLeft(read)) return read
    const { events, revision } = read.right
    // A stream holds the events of its own decider.
    const state = fold(decider, decider.initial, events as unknown as ReadonlyArray<Event>)
    const known = { state, revision, last: antecedentOf(events.at(-1)) }
    kept.set(stream, known)
    return E.right({ ...known, events })
  }

  const attempt = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    stream: string,
    command: Command,
    cause: Cause,
    isFirst: boolean,
  ): Promise<'conflict' | Either<Refusal | StoreFailure, Outcome<State>>> => {
    const hit = kept.get(stream) as Known<State> | undefined
    const isNew = isFirst && hit === undefined && decider.founding.has(command.type)
    const begun: Loaded<State> = { state: decider.initial, revision: 'no-stream', last: undefined, events: [] }
    const loaded: Either<StoreFailure, Loaded<State>> = isNew
      ? E.right(begun)
      : hit === undefined
        ? await load(decider, stream)
        : E.right({ ...hit, events: [] })
    if (E.isLeft(loaded)) return loaded
    const { state, revision, last } = loaded.right
    const decided = decider.decide(command, state)
    const isChange = E.isRight(decided) && decided.right.length > 0
    // What is kept may be behind, and tells nothing of what stands there for the same cause.
    if (!isChange && hit !== undefined && (isShared || reactedTo(cause) !== undefined)) {
      kept.forget(stream)
      return attempt(decider, stream, command, cause, false)
    }
    if (E.isLeft(decided)) return decided
    const [first, ...rest] = decided.right.map((event, index) => newEvent(event, index, cause, last, clock))
    if (first === undefined) return E.right({ state, events: broughtAbout(loaded.right.events, cause) })
    const appended = await store.append(stream, revision, [first, ...rest])
    if (E.isLeft(appended)) {
      kept.forget(stream)
      return appended.left.kind === 'conflict' ? 'conflict' : E.left(appended.left)
    }
    const events = recordedIn(stream, [first, ...rest], appended.right)
    const after = fold(decider, state, decided.right)
    // Derived ids may have been appended before, and the stream gone on since: only a read would tell.
    const isCertain = cause.event === undefined || cause.event === 'last-of-stream' || !(isNew || isShared)
    if (isCertain)
      kept.set(stream, { state: after, revision: appended.right.revision, last: antecedentOf(events.at(-1)) })
    else kept.forget(stream)
    return E.right({ state: after, events })
  }

  const inTurn = <A>(stream: string, task: () => Promise<A>): Promise<A> => {
    const before = turns.get(stream)
    const turn = before === undefined ? task() : before.then(task, task)
    turns.set(stream, turn)
    const leave = (): void => {
      if (turns.get(stream) === turn) turns.delete(stream)
    }
    turn.then(leave, leave)
    return turn
  }

  const stateOf = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    isEnough: (state: State) => boolean,
  ): Promise<Either<StoreFailure, State>> => {
    const stream = streamOf(decider, id)
    const hit = kept.get(stream) as Known<State> | undefined
    if (hit !== undefined && isEnough(hit.state)) return E.right(hit.state)
    const loaded = await load(decider, stream)
    return E.isLeft(loaded) ? loaded : E.right(loaded.right.state)
  }

  return {
    execute: (decider, id, command, cause) => {
      const stream = streamOf(decider, id)
      return inTurn(stream, async () => {
        for (let tries = 0; tries < maximalTries; tries += 1) {
          const outcome = await attempt(decider, stream, command, cause, tries === 0)
          if (outcome !== 'conflict') return outcome
        }
        return E.left({ kind: 'contended' as const })
      })
    },
    state: (decider, id) => stateOf(decider, id, () => !isShared),
    recent: (decider, id, isEnough) => stateOf(decider, id, (state) => !isShared || isEnough(state)),
  }
}

/** The event that brought a command about, unless a client did. */
const reactedTo = ({ event }: Cause): Antecedent | undefined => (event === 'last-of-stream' ? undefined : event)

/** What was appended before for the same event, where the stream was read. */
const broughtAbout = (
  events: ReadonlyArray<Recorded<DomainEvent>>,
  cause: Cause,
): ReadonlyArray<Recorded<DomainEvent>> => {
  const before = reactedTo(cause)
  return before === undefined ? [] : events.filter(({ causationId }) => causationId === before.id)
}

/** What was appended, as it is told to whoever asked: see `Outcome`. */
const recordedIn = (
  stream: string,
  events: ReadonlyArray<NewEvent>,
  { revision, position }: Appended,
): ReadonlyArray<Recorded<DomainEvent>> =>
  events.map((event, index) => ({ ...event, stream, revision: revision - events.length + 1 + index, position }))

/** Written out field by field: this runs for every event, and spreading costs twice as much. */
const newEvent = (
  { type, data }: DomainEvent,
  index: number,
  cause: Cause,
  last: Antecedent | undefined,
  clock: Clock,
): NewEvent => {
  const id = cause.eventId(index)
  const before = cause.event === 'last-of-stream' ? last : cause.event
  return {
    type,
    data,
    id,
    time: clock.now(),
    correlationId: before?.correlationId ?? id,
    causationId: before?.id ?? id,
    schemaVersion,
    actor: cause.actor,
  } as NewEvent
}

const antecedentOf = (event: Antecedent | undefined): Antecedent | undefined =>
  event === undefined ? undefined : { id: event.id, correlationId: event.correlationId }
