import { instantOf, millisecondsOf, type Instant } from '../../domain/instant.js'
import type { Clock } from '../../domain/ports.js'
import { monotonicClock } from './monotonic-clock.js'

/** Milliseconds since 1970, by the clock on the wall. */
export const wallTime = (): number => Date.now()

/**
 * In milliseconds: a sleep is divided into such pieces, so that a clock that was set, or a machine that slept, is
 * noticed.
 */
const longestSleep = 30_000

/**
 * The clock of the machine, from now on `rate` times as fast (`CLOCK_RATE`): for demonstrations and checks, in which
 * days of retries pass in seconds. `goOnFrom` puts it forward, never back.
 */
export const systemClock = (rate: number): Clock & { readonly goOnFrom: (instant: Instant) => void } => {
  const start = wallTime()
  let ahead = 0
  const now = (): number => start + (wallTime() - start) * rate + ahead
  let last = { milliseconds: Number.NaN, instant: instantOf(start) }

  return {
    // Under load the same millisecond is asked for many times, and to format it is what costs.
    now: () => {
      const milliseconds = Math.floor(now())
      if (milliseconds !== last.milliseconds) last = { milliseconds, instant: instantOf(milliseconds) }
      return last.instant
    },
    goOnFrom: (instant) => {
      ahead += Math.max(millisecondsOf(instant) - now(), 0)
    },
    sleepUntil: async (instant, signal) => {
      for (;;) {
        const left = (millisecondsOf(instant) - now()) / rate
        if (left <= 0 || signal.aborted) return
        await monotonicClock.sleep(Math.min(Math.ceil(left), longestSleep), signal)
      }
    },
  }
}
