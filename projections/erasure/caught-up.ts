import { withinLimit } from '../../domain/abortable.js'
import type { Position } from '../../domain/event.js'
import type { MonotonicClock } from '../../domain/ports.js'
import { StoreFailed } from '../../domain/store-failed.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'

/** A follower that an erasure waits for. */
export type AwaitedFollower = Pick<LeasedFollower, 'name' | 'caughtUpTo' | 'failure'>

/** In milliseconds: after that it says so and begins anew. */
const longestWait = 10_000

/** @throws StoreFailed where it takes too long, or the process stops */
export const caughtUp = async (
  monotonic: Pick<MonotonicClock, 'sleep'>,
  { name, caughtUpTo, failure }: AwaitedFollower,
  position: Position,
  stopping: AbortSignal,
): Promise<void> => {
  const isDone = await withinLimit(monotonic, longestWait, async (isOver) => {
    await caughtUpTo(position, AbortSignal.any([isOver, stopping]))
    return failure() === undefined && !stopping.aborted
  })
  if (isDone !== true) throw new StoreFailed({ kind: 'unavailable', reason: `${name} has not caught up` })
}
