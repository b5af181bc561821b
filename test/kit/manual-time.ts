import type { Time } from '../../domain/ports.js'

/** The time of one process. */
export type ProcessTime = Time & {
  /** No timer of the process goes off any more, as if it were stopped. */
  readonly freeze: () => void
  /** Timers that are overdue go off. */
  readonly thaw: () => void
}

/** Time that stands still until it is told to go on, for several processes. */
export type ManualTime = {
  readonly now: () => number
  readonly process: () => ProcessTime
  /** Goes on by so many milliseconds, from alarm to alarm. After each it waits until nothing is under way, and checks. */
  readonly pass: (milliseconds: number) => Promise<void>
}

type Alarm = { readonly at: number; readonly wake: () => void; readonly isFrozen: () => boolean }

export const manualTime = (settled: () => Promise<void>, check: () => void = () => undefined): ManualTime => {
  let now = 0
  const alarms = new Set<Alarm>()

  const process = (): ProcessTime => {
    let isFrozen = false
    return {
      now: () => now,
      sleep: (milliseconds, signal) =>
        new Promise((resolve) => {
          if (signal.aborted) {
            resolve()
            return
          }
          const wake = (): void => {
            alarms.delete(alarm)
            signal.removeEventListener('abort', wake)
            resolve()
          }
          const alarm = { at: now + Math.max(0, milliseconds), wake, isFrozen: () => isFrozen }
          alarms.add(alarm)
          signal.addEventListener('abort', wake, { once: true })
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
    pass: async (milliseconds) => {
      const end = now + milliseconds
      await settled()
      for (;;) {
        const due = [...alarms].filter(({ at, isFrozen }) => at <= end && !isFrozen())
        const [next] = due.sort((one, other) => one.at - other.at)
        if (next === undefined) break
        now = Math.max(now, next.at)
        next.wake()
        await settled()
        check()
      }
      now = end
      check()
    },
  }
}
