import { instantOf, millisecondsOf } from '../../../domain/instant.js'
import type { Clock } from '../../../domain/ports.js'
import { at } from '../samples.js'

/** A clock that stands still while anything is done, and jumps from alarm to alarm. Times are milliseconds since 1970. */
export type VirtualClock = Clock & {
  readonly time: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Goes on to the next alarm and rings all that are set for that time; where none is left until `latest`, to `latest`. */
  readonly toNextAlarm: (latest: number) => boolean
}

type Alarm = { readonly time: number; readonly ring: () => void }

export const virtualClock = (): VirtualClock => {
  let time = millisecondsOf(at())
  let now = at()
  /** In the order of their times; of one time, in the order in which they were set. */
  const alarms: Array<Alarm> = []

  const moveTo = (next: number): void => {
    time = next
    now = instantOf(time)
  }
  const set = (alarm: Alarm): void => {
    const before = alarms.findLastIndex((other) => other.time <= alarm.time)
    alarms.splice(before + 1, 0, alarm)
  }
  const remove = (alarm: Alarm): void => {
    const index = alarms.indexOf(alarm)
    if (index !== -1) alarms.splice(index, 1)
  }

  return {
    now: () => now,
    time: () => time,
    sleep: (milliseconds) => new Promise((ring) => set({ time: time + milliseconds, ring })),
    sleepUntil: (instant, signal) =>
      new Promise((resolve) => {
        if (instant <= now || signal.aborted) {
          resolve()
          return
        }
        const ring = (): void => {
          signal.removeEventListener('abort', ring)
          remove(alarm)
          resolve()
        }
        const alarm = { time: millisecondsOf(instant), ring }
        set(alarm)
        signal.addEventListener('abort', ring, { once: true })
      }),
    toNextAlarm: (latest) => {
      const next = alarms[0]?.time
      if (next === undefined || next > latest) {
        if (Number.isFinite(latest)) moveTo(latest)
        return false
      }
      moveTo(next)
      const due = alarms.findLastIndex((alarm) => alarm.time === next) + 1
      for (const { ring } of alarms.splice(0, due)) ring()
      return true
    },
  }
}
