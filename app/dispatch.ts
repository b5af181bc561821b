import { LRUCache } from 'lru-cache'
import { fold, streamOf, type Decider } from '../domain/decider.js'
import type { DomainEvent } from '../domain/domain-event.js'
import type {
  AnyCommand,
  Antecedent,
  Cause,
  Clock,
  Dispatch,
  EventStore,
  NewEvent,
  Outcome,
  Revision,
  StoreFailure,
} from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import { schemaVersion } from '../domain/upcast.js'

type Known<State> = { readonly state: State; readonly revision: Revision; readonly last: Antecedent | undefined }

/** Conflicts come from other processes only: within this one, commands for a stream wait for each other. */
const maximalTries = 4

/** Folded streams that are kept, so that a busy one is not read again for each command. */
const keptStreams = 5_000

/** Reads, folds, decides, appends at the revision read; a conflict is decided again a few times. */
export const dispatcher = ({ store, clock }: { readonly store: EventStore; readonly clock: Clock }): Dispatch => {
  const kept = new LRUCache<string, Known<unknown>>({ max: keptStreams })
  const turns = new Map<string, Promise<unknown>>()

  const load = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    stream: string,
  ): Promise<Either<StoreFailure, Known<State>>> => {
    const hit = kept.get(stream) as Known<State> | undefined
    if (hit !== undefined) return E.right(hit)
    const read = await store.read(stream)
    if (E.isLeft(read)) return read
    const { events, revision } = read.right
    // A stream holds the events of its own decider.
    const state = fold(decider, decider.initial, events as unknown as ReadonlyArray<Event>)
    const known = { state, revision, last: antecedentOf(events.at(-1)) }
    kept.set(stream, known)
    return E.right(known)
  }

  const attempt = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    stream: string,
    command: Command,
    cause: Cause,
    isFirst: boolean,
  ): Promise<'conflict' | Either<Refusal | StoreFailure, Outcome<State>>> => {
    const isNew = isFirst && decider.founding.has(command.type) && !kept.has(stream)
    const loaded = isNew
      ? E.right({ state: decider.initial, revision: 'no-stream' as const, last: undefined })
      : await load(decider, stream)
    if (E.isLeft(loaded)) return loaded
    const { state, revision, last } = loaded.right
    const decided = decider.decide(command, state)
    if (E.isLeft(decided)) return decided
    const [first, ...rest] = decided.right.map((event, index) => newEvent(event, index, cause, last, clock))
    if (first === undefined) return E.right({ state, events: [] })
    const appended = await store.append(stream, revision, [first, ...rest])
    if (E.isLeft(appended)) {
      kept.delete(stream)
      return appended.left.kind === 'conflict' ? 'conflict' : E.left(appended.left)
    }
    const events = appended.right
    const after = fold(decider, state, decided.right)
    const newest = events.at(-1)
    // Derived ids may have been appended before, and the stream gone on since: only a read would tell.
    const isCertain = !isNew || cause.event === undefined
    if (isCertain)
      kept.set(stream, { state: after, revision: newest?.revision ?? revision, last: antecedentOf(newest) })
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
    state: async (decider, id) => {
      const loaded = await load(decider, streamOf(decider, id))
      return E.isLeft(loaded) ? loaded : E.right(loaded.right.state)
    },
  }
}

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
