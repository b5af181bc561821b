import type { Surface } from '../endpoint.js'
import { answer } from '../steps.js'
import { healthOf } from './health.js'

/** What a process answers before its stores do: that it lives, and what it waits for. */
export const startingSurface = (waitingFor: () => ReadonlyArray<string>): Surface<undefined> =>
  healthOf(answer(503, () => ({ status: 'starting', waiting_for: waitingFor() })))
