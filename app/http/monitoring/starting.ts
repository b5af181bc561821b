import { E } from '../../../domain/prelude.js'
import type { Surface } from '../endpoint.js'
import { answer } from '../steps.js'

/** What a process answers before its stores do: that it lives, and what it waits for. */
export const startingSurface = (waitingFor: () => ReadonlyArray<string>): Surface<undefined> => ({
  name: 'health',
  prefix: '/health',
  bodies: [],
  invalidJson: { kind: 'invalid-json' },
  authenticate: () => E.right(undefined),
  endpoints: [
    { method: 'GET', path: '/live', handle: answer(200, () => ({ status: 'live' })) },
    {
      method: 'GET',
      path: '/ready',
      handle: answer(503, () => ({ status: 'starting', waiting_for: waitingFor() })),
    },
  ],
})
