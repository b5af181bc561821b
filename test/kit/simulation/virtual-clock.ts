import { instantOf, millisecondsOf } from '../../../domain/instant.js'
import type { Clock } from '../../../domain/ports.js'
import { at } from '../domain/samples.js'

/** A clock that stands still while anything is done, and then jumps to the next timer. Times are milliseconds since 1970. */
export type VirtualClock = Clock & {
  readonly time: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  /**
   * Jumps to the next timer, and all that are set for its time go off. Where none is left until `latest` it jumps there, and the
   * answer is false.
   */
  readonly toNextTimer: (latest: number) => boolean
}

type Timer = { readonly time: number; readonly goOff: () => void }

export const virtualClock = (): VirtualClock => {
  let time = millisecondsOf(at())
  let now = at()
  /** In the order of their times; those of one time in the order in which they were set. */
  const timers: Array<Timer> = []

  const moveTo = (next: number): void => {
    time = next
    now = instantOf(time)
  }
  const set = (timer: Timer): void => {
    const before = timers.findLastIndex((other) => other.time <= timer.time)
    timers.splice(before + 1, 0, timer)
  }
  const remove = (timer: Timer): void => {
    const index = timers.indexOf(timer)
    if (index !== -1) timers.splice(index, 1)
  }

  return {
    now: () => now,
    time: () => time,
    sleep: (milliseconds) => new Promise((goOff) => set({ time: time + milliseconds, goOff })),
    sleepUntil: (instant, signal) =>
      new Promise((resolve) => {
        if (instant <= now || signal.aborted) {
          resolve()
          return
        }
        const goOff = (): void => {
          signal.removeEventListener('abort', goOff)
          remove(timer)
          resolve()
        }
        const timer = { time: millisecondsOf(instant), goOff }
        set(timer)
        signal.addEventListener('abort', goOff, { once: true })
      }),
    toNextTimer: (latest) => {
      const next = timers[0]?.time
      if (next === undefined || next > latest) {
        if (Number.isFinite(latest)) moveTo(latest)
        return false
      }
      moveTo(next)
      const due = timers.findLastIndex((timer) => timer.time === next) + 1
      for (const { goOff } of timers.splice(0, due)) goOff()
      return true
    },
  }
}
