import { LRUCache } from 'lru-cache'
import { streamOf } from '../../domain/decider.js'
import { categories, type DomainEvent } from '../../domain/events.js'
import type { Position, Recorded, Revision } from '../../domain/event.js'
import type { CommandHandler, EventStore } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Follower } from '../../projections/subscriptions/follower.js'
import type { CurrentStates } from './current-states.js'

/** In milliseconds: how old a state may be that a request is accepted by. */
const longestTrust = 1_000

const capacity = 5_000

/** A state that is folded further as events pass. `asOf`: it lacks nothing that stood in the log then. */
type Entry = {
  readonly evolve: (state: unknown, event: DomainEvent) => unknown
  readonly state: unknown
  readonly revision: Revision
  readonly asOf: number
}

/** An append of this process whose position, once the subscription has come to it, shows that it followed the log since. */
type Probe = { readonly position: Position; readonly begun: number }

export type InMemoryProjection = CurrentStates & {
  readonly follower: Follower
  /** The same store, whose appends show how far behind the log the subscription is. */
  readonly probed: (store: EventStore) => EventStore
}

type Ports = {
  readonly store: Pick<EventStore, 'head'>
  readonly load: CommandHandler['load']
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
}

/**
 * The states that requests rest on where other processes write to the log too: read from their streams once, then kept up to
 * date by a subscription. A subscription tells nothing while the log is at rest or cut off, so it is known to have
 * followed the log only from the moment at which an append of this process was begun that it has delivered since.
 */
export const inMemoryProjection = ({ store, load, now }: Ports): InMemoryProjection => {
  const entries = new LRUCache<string, Entry>({ max: capacity })
  /** Streams that are being read, and the newest revision that passed meanwhile: what is read may be older. */
  const reading = new Map<string, { revision: number; readers: number }>()
  /** Of the appends that the subscription has not come to, the oldest and the newest: others add nothing. */
  const probes: Array<Probe> = []
  let followedAt = Number.NEGATIVE_INFINITY
  /** Counts the subscriptions: what was read before one began may lack what was written before it began. */
  let subscriptions = 0

  const probe = (one: Probe): void => {
    probes.splice(1, 1)
    probes.push(one)
  }
  const reached = (position: Position): void => {
    while (probes[0] !== undefined && probes[0].position <= position) {
      followedAt = Math.max(followedAt, probes.shift()?.begun ?? followedAt)
    }
  }

  const fold = (event: Recorded<DomainEvent>): void => {
    const { stream, revision } = event
    const read = reading.get(stream)
    if (read !== undefined) read.revision = revision
    const entry = entries.get(stream)
    if (entry === undefined || isAtLeast(entry.revision, revision)) return
    if (isAtLeast(entry.revision, revision - 1)) {
      entries.set(stream, { ...entry, state: entry.evolve(entry.state, event), revision })
    } else entries.delete(stream)
  }

  const get: CurrentStates['get'] = async (decider, id, isAcceptable) => {
    type State = typeof decider.initial
    const stream = streamOf(decider, id)
    const known = entries.get(stream)
    const isFresh = known !== undefined && now() - Math.max(known.asOf, followedAt) <= longestTrust
    // A stream is folded by its own decider.
    if (isFresh && isAcceptable(known.state as State)) return E.right(known.state as State)
    const asOf = now()
    const during = subscriptions
    const passed = reading.get(stream) ?? { revision: -1, readers: 0 }
    passed.readers += 1
    reading.set(stream, passed)
    const loaded = await load(decider, id)
    passed.readers -= 1
    if (passed.readers === 0) reading.delete(stream)
    if (E.isLeft(loaded)) return loaded
    const { state, revision } = loaded.right
    const evolve = decider.evolve as unknown as Entry['evolve']
    const isKept = isAcceptable(state) && during === subscriptions && isAtLeast(revision, passed.revision)
    if (isKept) entries.set(stream, { evolve, state, revision, asOf })
    return E.right(state)
  }

  return {
    get,
    follower: {
      name: 'in_memory_projection',
      categories,
      begin: async () => {
        const head = orThrow(await store.head())
        subscriptions += 1
        entries.clear()
        return head
      },
      handle: ({ events, position }) => {
        events.forEach(fold)
        reached(position)
        return Promise.resolve()
      },
    },
    probed: (probedStore) => ({
      ...probedStore,
      append: async (...append) => {
        const begun = now()
        const appended = await probedStore.append(...append)
        if (E.isRight(appended)) probe({ position: appended.right.position, begun })
        return appended
      },
    }),
  }
}

const isAtLeast = (revision: Revision, least: number): boolean =>
  least < 0 || (revision !== 'no-stream' && revision >= least)
