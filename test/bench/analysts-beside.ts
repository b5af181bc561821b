import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { runCommand } from './command.js'
import { closedLoop, openLoop } from './http-load.js'
import { leadRequest } from './leads.js'
import type { Row } from './row.js'
import { startMeasured, type Seeded } from './seed.js'
import { medianOf, summaryOf, type Summary } from './summary.js'

/** Lead intake at a third of its capacity, alone and while one export after another runs beside it. */
export const besideExports = async (store: Seeded, rounds: number, seconds: number): Promise<Row> => {
  const service = await startMeasured(store.directory)
  const load = { port: service.port, connections: 64, request: leadRequest(store.path), expectedStatus: 200 }
  const warm = await closedLoop({ ...load, seconds }, 5_000_000)
  const capacity = await closedLoop({ ...load, seconds }, warm.nextSerial)
  const third = Math.max(1, Math.floor(capacity.perSecond / 3))
  let serial = capacity.nextSerial
  const steady = async (): Promise<Summary> => {
    const latencies = await openLoop(load, third, third * seconds, serial)
    serial += third * seconds
    return summaryOf(latencies, seconds)
  }
  const alone: Array<Summary> = []
  const beside: Array<Summary> = []
  for (let round = 0; round <= rounds; round += 1) {
    const undisturbed = await steady()
    const enough = new AbortController()
    const exporting = exports(store.directory, enough.signal)
    const disturbed = await steady()
    enough.abort()
    await exporting
    // The first round warms up.
    if (round === 0) continue
    alone.push(undisturbed)
    beside.push(disturbed)
  }
  await service.stop()
  const [ours, theirs] = [medianOf(beside), medianOf(alone)]
  const ratio = ours.p99 / theirs.p99
  const shown = ({ p50, p99 }: Summary): string => `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`
  return {
    measured: `lead intake beside an export, ${third} leads/s, a third of its capacity`,
    ours: shown(ours),
    baseline: shown(theirs),
    ratio: `p99 ${ratio.toFixed(2)}`,
    goal: 'p99 at most 2',
    met: ratio <= 2,
  }
}

/** Exports one after the other until the signal aborts. */
const exports = async (dataDir: string, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const { path, remove } = openTemporaryDirectory()
    await runCommand(['export', '--out', path], { DATA_DIR: dataDir }, signal)
    await remove()
  }
}
