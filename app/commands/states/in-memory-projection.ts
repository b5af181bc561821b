import { LRUCache } from 'lru-cache'
import { approximateBytes } from '../../../domain/approximate-size.js'
import { categories, type DomainEvent } from '../../../domain/events.js'
import { revisionNumber, type Revision } from '../../../domain/event.js'
import type { CommandHandler, EventStore, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { orThrow } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { Follower } from '../../../projections/subscriptions/follower.js'
import type { CurrentStates } from './current-states.js'
import { freshness } from './freshness.js'
import { isAtLeast, streamReads } from './stream-reads.js'

/** In milliseconds: a request is accepted only by a state that is at most this old. */
export const longestTrust = 1_000

/** In bytes of the states, about. */
const capacity = 32_000_000

/** What an entry takes beside its state. */
const leastEntry = 200

/** A cached state, to which delivered events are applied. `asOf`: when it was known to be current. */
type Entry = {
  readonly evolve: (state: unknown, event: DomainEvent) => unknown
  readonly state: unknown
  readonly revision: Revision
  readonly asOf: number
}

export type InMemoryProjection = CurrentStates & {
  readonly follower: Follower
  /** The same store, whose appends count at once, and show how recently the subscription has followed the log. */
  readonly observed: (store: EventStore) => EventStore
}

type Ports = {
  readonly store: Pick<EventStore, 'head'>
  readonly load: CommandHandler['load']
  readonly monotonic: Pick<MonotonicClock, 'now'>
}

/**
 * The states that requests rest on where other processes write to the log too: each is read from its stream once, and
 * then folded further by its decider as the subscription delivers events. It makes no documents, has no checkpoint and
 * is no `Projection` of a read model: those answer queries, and this decides whether a request is accepted.
 */
export const inMemoryProjection = ({ store, load, monotonic }: Ports): InMemoryProjection => {
  const entries = new LRUCache<string, Entry>({
    maxSize: capacity,
    sizeCalculation: ({ state }) => leastEntry + approximateBytes(state),
  })
  const reads = streamReads()
  const { observed, delivered, followedAt } = freshness(monotonic)

  const fold = (stream: string, revision: number, event: DomainEvent): void => {
    reads.appended(stream, revision)
    const entry = entries.get(stream)
    if (entry === undefined || isAtLeast(entry.revision, revision)) return
    if (isAtLeast(entry.revision, revision - 1)) {
      entries.set(stream, { ...entry, state: entry.evolve(entry.state, event), revision })
    } else entries.delete(stream)
  }

  const get: CurrentStates['get'] = async (decider, id, isAcceptable) => {
    type State = typeof decider.initial
    const stream = streamOf(decider, id)
    const entry = entries.get(stream)
    const isFresh = entry !== undefined && monotonic.now() - Math.max(entry.asOf, followedAt()) <= longestTrust
    // A stream is folded by its own decider.
    if (isFresh && isAcceptable(entry.state as State)) return E.right(entry.state as State)
    const asOf = monotonic.now()
    const read = reads.begin(stream)
    const loaded = await load(decider, id)
    read.end()
    if (E.isLeft(loaded)) return loaded
    const { state, revision } = loaded.right
    const cached = entries.get(stream)
    // A node of a cluster may be behind the one that the subscription comes from: what is cached never goes back.
    if (cached !== undefined && !isAtLeast(revision, revisionNumber(cached.revision)))
      return E.right(cached.state as State)
    const evolve = decider.evolve as unknown as Entry['evolve']
    if (isAcceptable(state) && read.lacksNothing(revision)) entries.set(stream, { evolve, state, revision, asOf })
    return E.right(state)
  }

  const follower: Follower = {
    name: 'in_memory_projection',
    // Of all categories: each append of this process is awaited, whatever it is about.
    categories,
    begin: async () => {
      const head = orThrow(await store.head())
      reads.subscribed()
      entries.clear()
      return head
    },
    handle: ({ events, position }) => {
      for (const event of events) fold(event.stream, event.revision, event)
      delivered(position)
      return Promise.resolve()
    },
    skip: ({ stream }) => {
      // Whoever reads the stream is told that it is corrupt.
      entries.delete(stream)
      reads.appended(stream, Number.MAX_SAFE_INTEGER)
      return Promise.resolve()
    },
  }
  // What this process appends counts for its next request, before the subscription delivers it.
  const folded = (watched: EventStore): EventStore => ({
    ...watched,
    append: async (stream, expected, events) => {
      const appended = await watched.append(stream, expected, events)
      if (E.isRight(appended)) {
        const first = appended.right.revision - events.length + 1
        events.forEach((event, index) => {
          fold(stream, first + index, event)
        })
      }
      return appended
    },
  })
  return { get, follower, observed: (watched) => folded(observed(watched)) }
}
