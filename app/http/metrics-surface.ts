import { E } from '../../domain/prelude.js'
import type { Metrics } from './metrics.js'
import type { Surface } from './endpoint.js'

/** `GET /metrics`, in the text format of Prometheus. */
export const metricsSurface = (metrics: Metrics): Surface<undefined> => ({
  name: 'metrics',
  prefix: '',
  bodies: [],
  invalidJson: { kind: 'invalid-json' },
  authenticate: () => Promise.resolve(E.right(undefined)),
  endpoints: [
    {
      method: 'GET',
      path: '/metrics',
      handle: async () =>
        E.right({
          status: 200,
          body: await metrics.text(),
          headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        }),
    },
  ],
})
