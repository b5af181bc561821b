import { startChild } from './child.js'
import { closedLoop } from './http-load.js'
import { findRequest } from './leads.js'
import { nodeArguments, startMeasured, type Seeded } from './seed.js'
import { medianOf, type Compared } from './summary.js'

const connections = 64

/** Find by phone over all contacts of the store, beside bare Koa and router answering a constant. */
export const measureFind = async (store: Seeded, rounds: number, seconds: number): Promise<Compared> => {
  const service = await startMeasured(store.directory)
  const bare = await startChild('dist/test/bench/bare-server.js', {}, nodeArguments)
  const load = { connections, request: findRequest(store.apiKey, store.leads), expectedStatus: 200, seconds }
  const ours = []
  const theirs = []
  for (let round = 0; round <= rounds; round += 1) {
    const baseline = await closedLoop({ ...load, port: bare.port }, 0)
    const measured = await closedLoop({ ...load, port: service.port }, 0)
    // The first round warms up.
    if (round > 0) {
      theirs.push(baseline)
      ours.push(measured)
    }
  }
  const memory = service.memory()
  await service.stop()
  await bare.stop()
  return { ours: medianOf(ours), theirs: medianOf(theirs), memory }
}
