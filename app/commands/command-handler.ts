import type { DomainEvent, RecordedEvent } from '../../domain/events.js'
import { recordedAs } from '../../domain/event.js'
import type { Aggregate } from '../../domain/aggregate.js'
import type {
  Appended,
  Clock,
  CommandHandler,
  CommandResult,
  EnvelopeFacts,
  EventStore,
  NewEvent,
  StoreFailure,
} from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { schemaVersion } from '../../domain/stored-event.js'
import { streamOf } from '../../domain/stream-name.js'
import type { Aggregates } from './aggregates.js'

/** Tries in all: after a conflict, or a wrong assumption, the command is decided again. */
const mostTries = 4

type Ports = { readonly aggregates: Aggregates; readonly store: Pick<EventStore, 'readLast'>; readonly clock: Clock }

/** Loads, decides, appends at the revision that was loaded; on a conflict again, a few times. */
export const commandHandler = ({ aggregates, store, clock }: Ports): CommandHandler => ({
  load: (decider, id) => aggregates.load(decider, streamOf(decider, id)),

  execute: async (decider, id, command, envelope, assumed) => {
    const stream = streamOf(decider, id)
    for (let tries = 0; tries < mostTries; tries += 1) {
      const loaded = await aggregates.load(decider, stream, tries === 0 ? assumed : undefined)
      if (E.isLeft(loaded)) return loaded
      const aggregate = loaded.right
      const isAssumed = tries === 0 && aggregate === assumed
      const decided = decider.decide(command, aggregate.state)
      const [first, ...rest] = E.isLeft(decided) ? [] : newEvents(decided.right, envelope, aggregate, clock)
      // Only an append proves an assumption: what is refused, or is so already, is decided on the stream itself.
      if (first === undefined && isAssumed) continue
      if (E.isLeft(decided)) return decided
      if (first === undefined) return alreadySo(store, stream, aggregate, envelope)
      const appended = await aggregates.append(decider, stream, aggregate, [first, ...rest])
      if (E.isRight(appended)) {
        const { state } = appended.right
        return E.right({ state, events: recordedIn(stream, [first, ...rest], appended.right) })
      }
      if (appended.left.kind !== 'conflict') return E.left(appended.left)
    }
    return E.left({ kind: 'contended' })
  },
})

/** Among so many of the newest events of a stream a reaction that runs again looks for what it wrote the first time. */
const recentEvents = 50

/**
 * Nothing to append. A reaction that runs again is given the events that it appended the first time, so that the rest
 * of its chain is finished. Where they are no longer among the newest, the follower has finished it already.
 */
const alreadySo = async <State>(
  store: Pick<EventStore, 'readLast'>,
  stream: string,
  { state }: Aggregate<State>,
  { cause }: EnvelopeFacts,
): Promise<Either<StoreFailure, CommandResult<State>>> => {
  if (cause === undefined || cause === 'last-of-stream') return E.right({ state, events: [] })
  const recent = await store.readLast(stream, recentEvents)
  if (E.isLeft(recent)) return recent
  return E.right({ state, events: recent.right.filter(({ causationId }) => causationId === cause.id) })
}

/** The appended events with stream, revision and position, as `CommandResult` describes them. */
const recordedIn = (
  stream: string,
  events: ReadonlyArray<NewEvent>,
  { revision, position }: Appended,
): ReadonlyArray<RecordedEvent> =>
  events.map((event, index) => recordedAs(event, stream, revision - events.length + 1 + index, position))

/** Written out field by field, as `recordedAs` is. */
const newEvents = (
  decided: ReadonlyArray<DomainEvent>,
  { eventId, cause, actor, at }: EnvelopeFacts,
  { last }: Aggregate<unknown>,
  clock: Clock,
): ReadonlyArray<NewEvent> =>
  decided.map(({ type, data }, index) => {
    const id = eventId(index)
    const causing = cause === 'last-of-stream' ? last : cause
    return {
      type,
      data,
      id,
      time: at ?? clock.now(),
      correlationId: causing?.correlationId ?? id,
      causationId: causing?.id ?? id,
      schemaVersion,
      actor,
    } as NewEvent
  })
