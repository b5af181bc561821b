import { categories, categoryOf } from '../../domain/events.js'
import { beginning, type Position } from '../../domain/event.js'
import type { EventStore } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Follower } from '../../projections/subscriptions/follower.js'
import type { KeptStreams } from './aggregate-cache.js'
import { reacting } from './reactor.js'

/** What this process sees of what the others write. */
export type LogWatch = {
  readonly follower: Follower
  /** The position of the newest event that other streams follow from. */
  readonly newestCause: () => Position
}

/** Forgets the kept streams that others wrote to, from when it begins on. */
export const logWatch = (store: EventStore, kept: KeptStreams): LogWatch => {
  const causes = new Set<string>(reacting)
  let newest = beginning
  return {
    newestCause: () => newest,
    follower: {
      name: 'log_watch',
      categories,
      begin: async () => {
        const head = orThrow(await store.head())
        // What was written while nobody watched is not known.
        kept.forgetAll()
        return head
      },
      handle: ({ events }) => {
        kept.saw(events)
        newest = events.findLast(({ stream }) => causes.has(categoryOf(stream)))?.position ?? newest
        return Promise.resolve()
      },
    },
  }
}
