import { E } from '../../domain/prelude.js'
import type { EventStore } from '../../domain/ports.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import type { Surface } from './endpoint.js'

export type HealthPorts = { readonly store: EventStore; readonly followers: ReadonlyArray<LeasedFollower> }

/** For whoever watches over the process: no key, no personal value. */
export const healthSurface = ({ store, followers }: HealthPorts): Surface<undefined> => ({
  name: 'health',
  prefix: '/health',
  bodies: [],
  invalidJson: { kind: 'invalid-json' },
  authenticate: () => Promise.resolve(E.right(undefined)),
  endpoints: [
    {
      method: 'GET',
      path: '/live',
      handle: () => Promise.resolve(E.right({ status: 200, body: { status: 'live' } })),
    },
    {
      method: 'GET',
      path: '/ready',
      handle: async () => {
        const head = await store.head()
        if (E.isLeft(head)) return E.right({ status: 503, body: { status: 'the event store does not answer' } })
        const projections = await Promise.all(
          followers.map(async (one) => {
            const position = await one.position()
            // Positions of the log that are still to be looked at; unknown while the read models do not answer.
            const lag = position === undefined ? null : Math.max(Number(head.right - position), 0)
            return { name: one.name, lag, failure: one.failure() ?? null }
          }),
        )
        const isWhole = projections.every(({ lag, failure }) => lag !== null && failure === null)
        // What has stopped is for the operator to see; the rest goes on taking requests.
        return E.right({ status: 200, body: { status: isWhole ? 'ready' : 'degraded', projections } })
      },
    },
  ],
})
