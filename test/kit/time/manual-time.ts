import { abortable } from '../../../domain/abortable.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { settled } from './turns.js'

/** The monotonic clock of one process. */
export type ProcessTime = MonotonicClock & {
  /** No timer of the process fires any more, as if it were stopped. */
  readonly freeze: () => void
  /** Timers that are overdue fire. */
  readonly thaw: () => void
}

/** Time that stands still until it is advanced, for several processes. */
export type ManualTime = {
  readonly now: () => number
  readonly process: () => ProcessTime
  /**
   * Goes on by so many milliseconds, from timer to timer. After each it waits until nothing is in flight, and checks.
   */
  readonly advance: (milliseconds: number) => Promise<void>
}

type Timer = { readonly at: number; readonly fire: () => void; readonly isFrozen: () => boolean }

/** `inFlightSettled` resolves when nothing is in flight; `check` runs whenever a timer has fired. */
export const manualTime = (inFlightSettled = settled, check: () => void = () => undefined): ManualTime => {
  let now = 0
  const timers = new Set<Timer>()

  const process = (): ProcessTime => {
    let isFrozen = false
    return {
      now: () => now,
      sleep: (milliseconds, signal) =>
        abortable(signal, (fire) => {
          const timer = { at: now + Math.max(0, milliseconds), fire, isFrozen: () => isFrozen }
          timers.add(timer)
          return () => timers.delete(timer)
        }),
      freeze: () => {
        isFrozen = true
      },
      thaw: () => {
        isFrozen = false
      },
    }
  }
  return {
    now: () => now,
    process,
    advance: async (milliseconds) => {
      const end = now + milliseconds
      await inFlightSettled()
      for (;;) {
        const due = [...timers].filter(({ at, isFrozen }) => at <= end && !isFrozen())
        const [next] = due.sort((one, other) => one.at - other.at)
        if (next === undefined) break
        now = Math.max(now, next.at)
        next.fire()
        await inFlightSettled()
        check()
      }
      now = end
      check()
    },
  }
}
