import type { Surface } from '../endpoint.js'
import { answer } from '../steps.js'
import { healthOf } from './health.js'

/**
 * What a process answers before its stores do: that it lives, and which settings name a server that it waits for, and
 * why.
 */
export const startingSurface = (waitingFor: () => Readonly<Record<string, string>>): Surface<undefined> =>
  healthOf(
    answer(503, () => {
      const reasons = waitingFor()
      return { status: 'starting', waiting_for: Object.keys(reasons), reasons }
    }),
  )
