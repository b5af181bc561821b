import { abortable } from '../../../domain/abortable.js'
import { instantOf, millisecondsOf, type Instant } from '../../../domain/instant.js'
import type { Clock } from '../../../domain/ports.js'
import { at } from '../domain/samples.js'
import { firstWhere } from '../ordered.js'

/** A clock that stands still until it is told to go on. Times are milliseconds since 1970. */
export type ManualClock = Clock & {
  readonly time: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  /**
   * Jumps to the next timer, and all that are set for its time fire. Where none is left until `latest` it jumps there,
   * and the answer is false.
   */
  readonly toNextTimer: (latest?: number) => boolean
  /** Somebody set the clock: it goes on from here, and no timer fires. */
  readonly set: (instant: Instant) => void
}

type Timer = { readonly time: number; readonly fire: () => void }

export const manualClock = (): ManualClock => {
  let time = millisecondsOf(at())
  let now = at()
  /** In the order of their times; those of one time in the order in which they were set. */
  const timers: Array<Timer> = []

  const moveTo = (next: number): void => {
    time = next
    now = instantOf(time)
  }
  const add = (timer: Timer): void => {
    timers.splice(
      firstWhere(timers, ({ time }) => time > timer.time),
      0,
      timer,
    )
  }
  const remove = (timer: Timer): void => {
    const first = firstWhere(timers, ({ time }) => time >= timer.time)
    const index = timers.indexOf(timer, first)
    if (index !== -1) timers.splice(index, 1)
  }

  return {
    now: () => now,
    time: () => time,
    sleep: (milliseconds) => new Promise((fire) => add({ time: time + milliseconds, fire })),
    sleepUntil: (instant, signal) => {
      if (instant <= now) return Promise.resolve()
      return abortable(signal, (fire) => {
        const timer = { time: millisecondsOf(instant), fire }
        add(timer)
        return () => remove(timer)
      })
    },
    toNextTimer: (latest = Infinity) => {
      const next = timers[0]?.time
      if (next === undefined || next > latest) {
        if (Number.isFinite(latest)) moveTo(latest)
        return false
      }
      moveTo(next)
      const due = firstWhere(timers, (timer) => timer.time > next)
      for (const { fire } of timers.splice(0, due)) fire()
      return true
    },
    set: (instant) => moveTo(millisecondsOf(instant)),
  }
}
