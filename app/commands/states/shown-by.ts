import { withinLimit } from '../../../domain/abortable.js'
import type { Position } from '../../../domain/event.js'
import type { Time } from '../../../domain/ports.js'
import type { LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'

/** What maintains a read model. */
export type Showing = Pick<LeasedFollower, 'caughtUpTo' | 'position'>

/**
 * Whether all of them have followed the log up to `position`, for which it waits so many milliseconds at most: one that has stopped shows
 * what it showed.
 */
export const isShownBy = async (
  time: Pick<Time, 'sleep'>,
  showing: ReadonlyArray<Showing>,
  position: Position,
  longestWait: number,
): Promise<boolean> => {
  await withinLimit(time, longestWait, (isOver) =>
    Promise.all(showing.map(({ caughtUpTo }) => caughtUpTo(position, isOver))),
  )
  const positions = await Promise.all(showing.map((one) => one.position()))
  return positions.every((one) => one !== undefined && one >= position)
}
