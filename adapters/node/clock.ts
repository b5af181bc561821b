import { instantOf, millisecondsOf } from '../../domain/instant.js'
import type { Clock } from '../../domain/ports.js'

/** In milliseconds: a clock that is set, or a machine that slept, is noticed after so long at most. */
const longestNap = 30_000

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
        await slept(Math.min(Math.ceil(left), longestNap), signal)
      }
    },
  }
}

const slept = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end, { once: true })
  })
