import { withinLimit } from '../../../domain/abortable.js'
import type { Position } from '../../../domain/event.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { longestLook } from '../../../projections/parking/parked-counts.js'
import type { RunningFollower } from '../../../projections/subscriptions/follower.js'
import type { LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'

/** What a watcher is told of a follower, whichever process it runs in. */
export type ObservedFollower = Pick<LeasedFollower, 'name' | 'furthestPosition' | 'failure' | 'retrying'>

/** One that runs in each process for itself. */
export const ofThisProcess = ({ name, position, failure, retrying }: RunningFollower): ObservedFollower => ({
  name,
  furthestPosition: () => Promise.resolve(position()),
  failure,
  retrying,
})

/** How far each follower is behind the head of the log; undefined where that can't be read now. */
export const lagsOf = (
  followers: ReadonlyArray<Pick<LeasedFollower, 'furthestPosition'>>,
  head: Position,
  monotonic: Pick<MonotonicClock, 'sleep'>,
): Promise<ReadonlyArray<number | undefined>> =>
  Promise.all(
    followers.map(async (one) => {
      const position = await withinLimit(monotonic, longestLook, one.furthestPosition)
      return position === undefined ? undefined : Math.max(Number(head - position), 0)
    }),
  )
