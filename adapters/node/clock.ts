import { instantOf, millisecondsOf } from '../../domain/instant.js'
import type { Clock } from '../../domain/ports.js'
import { monotonicTime } from './monotonic-time.js'

/** In milliseconds: a clock that is set, or a machine that slept, is noticed after so long at most. */
const longestSleep = 30_000

/** The clock of the machine, from now on `rate` times as fast: for demonstrations and checks (design, section 9). */
export const systemClock = (rate: number): Clock => {
  const start = Date.now()
  const now = (): number => start + (Date.now() - start) * rate
  let last = { milliseconds: Number.NaN, instant: instantOf(start) }

  return {
    // A millisecond is asked for many times under load, and writing it down is what costs.
    now: () => {
      const milliseconds = Math.floor(now())
      if (milliseconds !== last.milliseconds) last = { milliseconds, instant: instantOf(milliseconds) }
      return last.instant
    },
    sleepUntil: async (instant, signal) => {
      for (;;) {
        const left = (millisecondsOf(instant) - now()) / rate
        if (left <= 0 || signal.aborted) return
        await monotonicTime.sleep(Math.min(Math.ceil(left), longestSleep), signal)
      }
    },
  }
}
