import { setMaxListeners } from 'node:events'
import { withinLimit } from '../../../domain/abortable.js'
import type { Position } from '../../../domain/event.js'
import type { MonotonicClock } from '../../../domain/ports.js'

/** What follows the log: a read model, or this process. */
export type LogFollower = {
  readonly name: string
  readonly caughtUpTo: (position: Position, signal: AbortSignal) => Promise<void>
}

type LimitedWait = {
  /** Resolves once each follower has come to its position, or that has taken too long. */
  readonly waitFor: (wanted: ReadonlyMap<LogFollower, Position>) => Promise<void>
  /**
   * Whether it did not catch up in time. No request is to wait for it until it has, so an outage slows down a few
   * requests and not all.
   */
  readonly isLagging: (name: string) => boolean
}

/**
 * In milliseconds. After that the answer goes out: the events are stored, and a contact that the read model lacks is
 * looked up in its stream.
 */
const longestWait = 3_000

/** `stopping` aborts when the service stops. */
export const limitedWait = (monotonic: MonotonicClock, stopping: AbortSignal): LimitedWait => {
  const lagging = new Set<string>()
  setMaxListeners(0, stopping)

  const trackLagging = async ({ name, caughtUpTo }: LogFollower, position: Position): Promise<void> => {
    if (lagging.has(name)) return
    lagging.add(name)
    await caughtUpTo(position, stopping)
    lagging.delete(name)
  }

  return {
    waitFor: async (wanted) => {
      const missing = new Map(wanted)
      const catchUp = async ([one, position]: readonly [LogFollower, Position], signal: AbortSignal): Promise<void> => {
        await one.caughtUpTo(position, signal)
        if (!signal.aborted) missing.delete(one)
      }
      await withinLimit(monotonic, longestWait, (signal) => {
        setMaxListeners(0, signal)
        return Promise.all([...wanted].map((one) => catchUp(one, signal)))
      })
      for (const [one, position] of missing) void trackLagging(one, position)
    },
    isLagging: (name) => lagging.has(name),
  }
}
