import { performance } from 'node:perf_hooks'
import { abortable } from '../../domain/abortable.js'
import type { MonotonicClock } from '../../domain/ports.js'

export const monotonicClock: MonotonicClock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    abortable(signal, (done) => {
      const timer = setTimeout(done, Math.max(0, milliseconds))
      return () => clearTimeout(timer)
    }),
}
