import type { Position } from '../../../domain/event.js'
import type { EventStore, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'

/**
 * How recently a subscription is known to have followed the log. One that delivers nothing may be current or cut off.
 * So each append of this process is awaited: once the subscription delivers it, everything that stood in the log before
 * the append began was delivered too.
 */
type Freshness = {
  /** The same store, whose appends are awaited in the subscription. */
  readonly observed: (store: EventStore) => EventStore
  /** The subscription has delivered everything up to `position`. */
  readonly delivered: (position: Position) => void
  /** By `MonotonicClock.now`; nothing that stood in the log then is lacking. */
  readonly followedAt: () => number
}

type Undelivered = { readonly position: Position; readonly begun: number }

export const freshness = ({ now }: Pick<MonotonicClock, 'now'>): Freshness => {
  /** The oldest and the newest append that was not delivered yet; those in between are not needed. */
  const undelivered: Array<Undelivered> = []
  let followedAt = Number.NEGATIVE_INFINITY

  return {
    observed: (store) => ({
      ...store,
      append: async (...append) => {
        const begun = now()
        const appended = await store.append(...append)
        if (E.isRight(appended)) {
          undelivered.splice(1, 1)
          undelivered.push({ position: appended.right.position, begun })
        }
        return appended
      },
    }),
    delivered: (position) => {
      for (let [oldest] = undelivered; oldest !== undefined && oldest.position <= position; [oldest] = undelivered) {
        followedAt = Math.max(followedAt, oldest.begun)
        undelivered.shift()
      }
    },
    followedAt: () => followedAt,
  }
}
