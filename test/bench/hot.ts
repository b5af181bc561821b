import { performance } from 'node:perf_hooks'
import { openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { startChild, type Child } from './child.js'
import { closedLoop, loopWhile, requestText } from './http-load.js'
import { leadFields, leadRequest, phoneOf } from './leads.js'
import { isReady } from '../kit/service/readiness.js'
import { shown, type Row } from './row.js'
import { startMeasured } from './seed.js'
import { summaryOf, type Summary } from './summary.js'

/** Leads of one number in all, and how many of them are the first ones and the last ones that are compared. */
type HotLoad = { readonly leads: number; readonly compared: number }

/** The first of these leads or the last ones; memory in MB. */
type HotStretch = {
  readonly hot: Summary
  readonly neighbour: Summary
  readonly memory: number
  /** Processor time of the service for a lead, either account's, in milliseconds. */
  readonly cpu: number
}

type HotNumber = {
  readonly first: HotStretch
  readonly last: HotStretch
  /** Milliseconds from its start until it was ready, after a kill. */
  readonly readyAfter: number
}

const connections = { hot: 4, neighbour: 1 }

/** Leads of other numbers before the first one, so that caches are full and code is compiled. */
const warmUpSeconds = 10

const longestStart = 120_000

/**
 * Leads of one number, of an account with one webhook, and beside the first and the last of them those of another
 * account.
 */
const measureHotNumber = async ({ leads, compared }: HotLoad): Promise<HotNumber> => {
  const { path: directory, remove } = openTemporaryDirectory()
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  try {
    const service = await startMeasured(directory)
    const [account, neighbour] = [await opened(service, receiver), await opened(service, receiver)]
    const load = { port: service.port, expectedStatus: 200 }
    const others = { ...load, connections: connections.neighbour, request: leadRequest(neighbour.postPath) }
    const hot = { ...load, connections: connections.hot, request: sameNumber(account) }
    let { nextSerial } = await closedLoop({ ...others, connections: 16, seconds: warmUpSeconds }, 0)

    const stretch = async (firstSerial: number): Promise<HotStretch> => {
      const [started, cpu] = [performance.now(), service.cpu()]
      let isOver = false
      const beside = loopWhile(() => !isOver, others, nextSerial)
      const ofHot = await loopWhile(times(compared), hot, firstSerial)
      isOver = true
      const ofNeighbour = await beside
      nextSerial += ofNeighbour.length
      const seconds = (performance.now() - started) / 1_000
      return {
        hot: summaryOf(ofHot, seconds),
        neighbour: summaryOf(ofNeighbour, seconds),
        memory: service.memory(),
        cpu: (service.cpu() - cpu) / 1_000 / (ofHot.length + ofNeighbour.length),
      }
    }
    const first = await stretch(0)
    await loopWhile(times(leads - 2 * compared), hot, compared)
    const last = await stretch(leads - compared)
    await service.kill()
    return { first, last, readyAfter: await readyAgain(directory) }
  } finally {
    await receiver.stop()
    await remove()
  }
}

const times = (count: number): (() => boolean) => {
  let asked = 0
  return () => asked++ < count
}

const opened = (service: Child, receiver: Child): Promise<LoadedAccount> => openLoadedAccount(service.url, receiver.url)

const sameNumber =
  ({ postPath }: LoadedAccount) =>
  (serial: number): string => {
    const fields = { ...leadFields(serial), phone: phoneOf(0) }
    return requestText('POST', postPath, { 'content-type': 'application/json' }, JSON.stringify(fields))
  }

const readyAgain = async (directory: string): Promise<number> => {
  const begun = performance.now()
  const service = await startMeasured(directory)
  await until('it is ready', longestStart, () => isReady(service))
  const readyAfter = performance.now() - begun
  await service.stop()
  return readyAfter
}

/** The rows of the table: the last leads of a hot number beside its first ones. */
export const hotNumber = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const load = quick ? { leads: 600, compared: 200 } : { leads: 20_000, compared: 1_000 }
  const { first, last, readyAfter } = await measureHotNumber(load)
  const row = (measured: string, of: (stretch: HotStretch) => string, ratio: number, most: number): Row => ({
    measured: `${measured}, beside the last ${load.compared} of ${load.leads} leads of one number against the first`,
    ours: of(last),
    baseline: of(first),
    ratio: ratio.toFixed(2),
    goal: `at most ${most}`,
    met: ratio <= most,
  })
  return [
    {
      ...row('', ({ hot, cpu }) => `${shown(hot)}, ${cpu.toFixed(1)} ms of processor`, last.hot.p50 / first.hot.p50, 2),
      measured: `lead of one number, the last ${load.compared} of ${load.leads} against the first, median`,
    },
    row("a neighbour's lead, p99", ({ neighbour }) => shown(neighbour), last.neighbour.p99 / first.neighbour.p99, 2),
    row('memory', ({ memory }) => `${memory.toFixed(0)} MB`, last.memory / first.memory, 1.3),
    {
      measured: `from a kill after ${load.leads} leads of one number until it is ready`,
      ours: `${(readyAfter / 1_000).toFixed(1)} s`,
      baseline: '-',
      ratio: '-',
      goal: 'at most 5 s',
      met: readyAfter <= 5_000,
    },
  ]
}
