import { startChild } from './child.js'
import { closedLoop } from './http-load.js'
import { leadRequest } from './leads.js'
import { nodeArguments, startMeasured, type Seeded } from './seed.js'
import { medianOf, type Compared } from './summary.js'

const connections = 64

/** Lead intake, durable with the 200 and findable with the next request, beside bare Koa with the same decoding. */
export const measureIntake = async (store: Seeded, rounds: number, seconds: number): Promise<Compared> => {
  const service = await startMeasured(store.directory)
  const bare = await startChild('dist/test/bench/bare-server.js', {}, nodeArguments)
  const load = { connections, request: leadRequest(store.path), expectedStatus: 200, seconds }
  let serial = 1_000_000
  const ours = []
  const theirs = []
  for (let round = 0; round <= rounds; round += 1) {
    const baseline = await closedLoop({ ...load, port: bare.port }, 0)
    const measured = await closedLoop({ ...load, port: service.port }, serial)
    serial = measured.nextSerial
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
