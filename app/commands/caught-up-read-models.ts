import { withinLimit } from '../../domain/abortable.js'
import type { Position } from '../../domain/event.js'
import type { MonotonicClock } from '../../domain/ports.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'

/** What maintains a read model. */
export type ReadModelFollower = Pick<LeasedFollower, 'caughtUpTo' | 'position'>

/**
 * Whether all of them have reached `position`; waits `longestWait` milliseconds at most. A follower that has stopped
 * never reaches it.
 */
export const haveCaughtUp = async (
  monotonic: Pick<MonotonicClock, 'sleep'>,
  readModelFollowers: ReadonlyArray<ReadModelFollower>,
  position: Position,
  longestWait: number,
): Promise<boolean> => {
  await withinLimit(monotonic, longestWait, (isOver) =>
    Promise.all(readModelFollowers.map(({ caughtUpTo }) => caughtUpTo(position, isOver))),
  )
  const positions = await Promise.all(readModelFollowers.map((one) => one.position()))
  return positions.every((one) => one !== undefined && one >= position)
}
