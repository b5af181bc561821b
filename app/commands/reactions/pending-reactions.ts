import { withinLimit } from '../../../domain/abortable.js'
import { reactingCategories } from '../../../domain/reactions.js'
import { beginning } from '../../../domain/event.js'
import type { EventStore, MonotonicClock } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { HasPendingReactions } from '../../../projections/queries.js'
import type { Follower } from '../../../projections/subscriptions/follower.js'
import type { LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import type { Reactor } from './reactor.js'

/** In milliseconds. */
const longestWait = 1_000

/** Where one process writes, what its own reactor left unfinished is all there is. */
export const ownPendingReactions =
  (reactor: Pick<Reactor, 'hasUnfinished'>): HasPendingReactions =>
  () =>
    Promise.resolve(reactor.hasUnfinished())

/**
 * Where other processes write too: waits until the reactions have come to the newest event with reactions that this
 * process has received.
 */
export const sharedPendingReactions = (
  store: Pick<EventStore, 'head'>,
  reactions: Pick<LeasedFollower, 'caughtUpTo' | 'position'>,
  monotonic: Pick<MonotonicClock, 'sleep'>,
): { readonly follower: Follower; readonly hasPending: HasPendingReactions } => {
  let newest = beginning
  return {
    follower: {
      name: 'pending_reactions',
      categories: reactingCategories,
      begin: async () => orThrow(await store.head()),
      handle: ({ events }) => {
        newest = events.at(-1)?.position ?? newest
        return Promise.resolve()
      },
      skip: ({ position }) => {
        newest = position
        return Promise.resolve()
      },
    },
    hasPending: async () => {
      const wanted = newest
      await withinLimit(monotonic, longestWait, (signal) => reactions.caughtUpTo(wanted, signal))
      const position = await reactions.position()
      return position === undefined || position < wanted
    },
  }
}
