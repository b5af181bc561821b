import { performance } from 'node:perf_hooks'

/** A clock that never goes back, in milliseconds from whenever, and pauses by it. It means nothing to another process. */
export type Time = {
  readonly now: () => number
  /** Resolves early when `signal` aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

export const machineTime: Time = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) {
        resolve()
        return
      }
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, Math.max(0, milliseconds))
      signal.addEventListener('abort', end, { once: true })
    }),
}
