import type { Clock } from '../../../domain/ports.js'
import { later, type Instant } from '../../../domain/instant.js'
import { at } from '../domain/samples.js'

/** A clock that stands still until it is told to go on. */
export type ManualClock = Clock & {
  /** Moves to the next instant that somebody sleeps until; false when nobody does. */
  readonly toNextTimer: () => boolean
  /** Somebody set the clock: it goes on from here, and nobody wakes. */
  readonly set: (instant: Instant) => void
}

export const manualClock = (): ManualClock => {
  let now: Instant = at()
  const timers = new Map<() => void, Instant>()

  const goOff = (): void => {
    for (const [wake, instant] of [...timers]) if (instant <= now) wake()
  }
  return {
    now: () => now,
    sleepUntil: (instant, signal) =>
      new Promise((resolve) => {
        if (instant <= now || signal.aborted) {
          resolve()
          return
        }
        const wake = (): void => {
          timers.delete(wake)
          resolve()
        }
        timers.set(wake, instant)
        signal.addEventListener('abort', wake, { once: true })
      }),
    toNextTimer: () => {
      const next = [...timers.values()].sort()[0]
      if (next === undefined) return false
      now = later(next, 0)
      goOff()
      return true
    },
    set: (instant) => {
      now = instant
    },
  }
}
