import type { Clock } from '../../domain/ports.js'
import { later, type Instant } from '../../domain/instant.js'
import { at } from './samples.js'

/** A clock that stands still until it is told to go on. */
export type ManualClock = Clock & {
  /** Moves to the next instant that somebody sleeps until; false when nobody does. */
  readonly toNextAlarm: () => boolean
  /** Somebody set the clock: it goes on from here, and nobody wakes. */
  readonly set: (instant: Instant) => void
}

export const manualClock = (): ManualClock => {
  let now: Instant = at()
  const alarms = new Map<() => void, Instant>()

  const ring = (): void => {
    for (const [wake, instant] of [...alarms]) if (instant <= now) wake()
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
          alarms.delete(wake)
          resolve()
        }
        alarms.set(wake, instant)
        signal.addEventListener('abort', wake, { once: true })
      }),
    toNextAlarm: () => {
      const next = [...alarms.values()].sort()[0]
      if (next === undefined) return false
      now = later(next, 0)
      ring()
      return true
    },
    set: (instant) => {
      now = instant
    },
  }
}
