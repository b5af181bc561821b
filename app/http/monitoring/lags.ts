import { withinLimit } from '../../../domain/abortable.js'
import type { Position } from '../../../domain/event.js'
import type { Time } from '../../../domain/ports.js'
import { longestLook } from '../../../projections/queries.js'
import type { LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'

/** How far each follower is behind the head of the log; undefined where that can't be read now. */
export const lagsOf = (
  followers: ReadonlyArray<Pick<LeasedFollower, 'progress'>>,
  head: Position,
  time: Pick<Time, 'sleep'>,
): Promise<ReadonlyArray<number | undefined>> =>
  Promise.all(
    followers.map(async (one) => {
      const position = await withinLimit(time, longestLook, one.progress)
      return position === undefined ? undefined : Math.max(Number(head - position), 0)
    }),
  )
