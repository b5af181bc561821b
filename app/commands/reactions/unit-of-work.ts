import { foldStream, type Aggregate } from '../../../domain/aggregate.js'
import type { Decider } from '../../../domain/decider.js'
import { beginning, revisionNumber } from '../../../domain/event.js'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import type { AnyCommand, AppendAll, Clock, EnvelopeFacts, EventStore, StreamAppend } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { AggregateCache } from '../aggregate-cache.js'
import { causingEventOf, type Aggregates, type Evolver, type MayHaveSnapshots } from '../aggregates.js'
import { commandHandler } from '../command-handler.js'
import type { Reactor } from './reactor.js'
import type { StreamQueue } from '../stream-queue.js'

/**
 * Executes a command and carries out all that follows from it, and appends the events of all these streams at once: so
 * a client waits for one flush of the disk, and not for one after the other. Undefined where that can't be, and then
 * nothing was appended: another command is under way for one of the streams, too much follows, or something is refused.
 */
export type UnitOfWork = <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  command: Command,
  envelope: EnvelopeFacts,
  assumed?: Aggregate<State>,
) => Promise<Done<State> | undefined>

/** The state after the command, its events, and with them all those that followed. */
type Done<State> = {
  readonly state: State
  readonly events: ReadonlyArray<RecordedEvent>
  readonly all: ReadonlyArray<RecordedEvent>
}

type Ports = {
  readonly cache: AggregateCache
  readonly queue: Pick<StreamQueue, 'tryLock'>
  readonly reactor: Pick<Reactor, 'carryOutAll' | 'carriedOut'>
  readonly store: Pick<EventStore, 'readLast'>
  readonly appendAll: AppendAll
  readonly clock: Clock
}

/** More than this is appended one stream after the other: others would wait for it. */
const mostAppends = 50

const notNow: Either<{ readonly kind: 'unavailable'; readonly reason: string }, never> = E.left({
  kind: 'unavailable',
  reason: 'it is not part of a unit of work',
})

export const unitOfWork =
  ({ cache, queue, reactor, store, appendAll, clock }: Ports): UnitOfWork =>
  async (decider, id, command, envelope, assumed) => {
    const { aggregates, appends, appended, end } = staging(cache, queue)
    try {
      const handler = commandHandler({ aggregates, store, clock })
      const executed = await handler.execute(decider, id, command, envelope, assumed)
      if (E.isLeft(executed) || executed.right.events.length === 0) return undefined
      const followed = await reactor.carryOutAll(handler, executed.right.events)
      if (E.isLeft(followed)) return undefined
      const written = await appendAll(appends)
      if (E.isLeft(written)) return undefined
      appended()
      reactor.carriedOut(written.right)
      const { state, events } = executed.right
      return { state, events: written.right.slice(0, events.length), all: written.right }
    } finally {
      end()
    }
  }

type Staged = StreamAppend & { readonly evolver: MayHaveSnapshots; readonly after: Aggregate<unknown> }

/** Aggregates to which events are appended in memory alone. The streams are nobody else's until the end. */
const staging = (cache: AggregateCache, { tryLock }: Pick<StreamQueue, 'tryLock'>) => {
  const appends: Array<Staged> = []
  const current = new Map<string, Aggregate<unknown>>()
  const locks = new Map<string, () => void>()

  const aggregates: Aggregates = {
    load: <State, Event extends DomainEvent>(
      evolver: Evolver<State, Event>,
      stream: string,
      assumed?: Aggregate<State>,
    ) => {
      const own = current.get(stream)
      // A stream is folded by one decider.
      if (own !== undefined) return Promise.resolve(E.right(own as Aggregate<State>))
      // Others may hold a stream and wait for one of these: so nothing here waits for a lock.
      const unlock = locks.get(stream) ?? tryLock(stream)
      if (unlock === undefined) return Promise.resolve(notNow)
      locks.set(stream, unlock)
      return cache.load(evolver, stream, assumed)
    },
    append: (evolver, stream, aggregate, events) => {
      if (appends.length >= mostAppends) return Promise.resolve(notNow)
      const { state: before, revision: expected } = aggregate
      const state = foldStream(evolver, events, before)
      const revision = revisionNumber(expected) + events.length
      const after = { state, revision, last: causingEventOf(events.at(-1)) }
      current.set(stream, after)
      appends.push({ stream, expected, events, evolver, after })
      return Promise.resolve(E.right({ state, revision, position: beginning }))
    },
  }
  return {
    aggregates,
    appends,
    /** Everything was appended. */
    appended: (): void => {
      for (const { evolver, stream, after, events } of appends) cache.appended(evolver, stream, after, events.length)
    },
    end: (): void => {
      for (const unlock of locks.values()) unlock()
    },
  }
}
