import { performance } from 'node:perf_hooks'
import { abortable } from '../../domain/abortable.js'
import type { Time } from '../../domain/ports.js'

export const monotonicTime: Time = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    abortable(signal, (done) => {
      const timer = setTimeout(done, Math.max(0, milliseconds))
      return () => clearTimeout(timer)
    }),
}
