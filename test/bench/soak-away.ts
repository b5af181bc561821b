import { performance } from 'node:perf_hooks'
import { tcpProxy } from '../kit/network/tcp-proxy.js'
import { openAccount } from '../kit/service/account.js'
import { testDatabase } from '../kit/stores/mongodb.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { loopWhile } from './http-load.js'
import { leadRequest } from './leads.js'
import { isReady } from '../kit/service/readiness.js'
import { startMeasured } from './seed.js'
import { startServer } from './servers.js'
import type { StoreUrls } from './tools.js'

/** A server that is taken away: with the documents' each lead is accepted, with the log's each is turned away. */
export type Away = 'MongoDB' | 'EventStoreDB'

/** Resident memory in MB, while a service has its leads and one server is away. */
type AwaySample = {
  /** Once a twelfth of the leads was answered, as many as come in five minutes of the hour. */
  readonly atFirst: number
  /** At its most, looked at ten times a second. */
  readonly most: number
  readonly atLast: number
  readonly perSecond: number
}

type Stage = { readonly urls: StoreUrls; readonly takeAway: () => Promise<void>; readonly close: () => Promise<void> }

const statusWhileAway: Readonly<Record<Away, number>> = { MongoDB: 200, EventStoreDB: 503 }

const longestStart = 120_000

/**
 * Leads that a service is sent as fast as `connections` take them, while a server is away: what waits grows with the
 * leads and with how many come at once, not with the hours.
 */
export const measureAway = async (
  away: Away,
  leads: number,
  connections: number,
  mongoUrl: string,
): Promise<AwaySample> => {
  const { path: directory, remove } = openTemporaryDirectory()
  const stage = await (away === 'MongoDB' ? withoutMongo(mongoUrl) : withoutEventStore())
  try {
    const service = await startMeasured(directory, stage.urls)
    await until('it is ready', longestStart, () => isReady(service))
    const { postUrl } = await openAccount(service)
    await stage.takeAway()
    const seen: Array<number> = []
    let begun = 0
    let atFirst = Number.NaN
    const looking = setInterval(() => seen.push(service.memory()), 100)
    const request = leadRequest(new URL(postUrl).pathname)
    const shouldContinue = (): boolean => {
      begun += 1
      if (begun === Math.floor(leads / 12)) atFirst = service.memory()
      return begun <= leads
    }
    const started = performance.now()
    const load = { port: service.port, connections, request, expectedStatus: statusWhileAway[away] }
    const answered = await loopWhile(shouldContinue, load, 0)
    const seconds = (performance.now() - started) / 1_000
    clearInterval(looking)
    const atLast = service.memory()
    await service.kill()
    return { atFirst, most: Math.max(atLast, ...seen), atLast, perSecond: answered.length / seconds }
  } finally {
    await stage.close()
    await remove()
  }
}

/** The log is embedded: the double holds its own in memory, which an hour's events would fill. */
const withoutMongo = async (mongoUrl: string): Promise<Stage> => {
  const database = testDatabase(mongoUrl)
  const { hostname, port } = new URL(mongoUrl)
  const proxy = await tcpProxy(hostname, Number(port))
  await proxy.bringBack()
  const url = new URL(database.url)
  url.host = `127.0.0.1:${proxy.port}`
  const close = async (): Promise<void> => {
    await proxy.takeAway()
    await database.drop()
  }
  return { urls: { eventStoreUrl: undefined, mongoUrl: url.href }, takeAway: proxy.takeAway, close }
}

const withoutEventStore = async (): Promise<Stage> => {
  const double = await startServer()
  const { hostname, port, search } = new URL(double.url)
  const proxy = await tcpProxy(hostname, Number(port))
  await proxy.bringBack()
  const close = async (): Promise<void> => {
    await proxy.takeAway()
    await double.stop()
  }
  return {
    urls: { eventStoreUrl: `esdb://127.0.0.1:${proxy.port}${search}`, mongoUrl: undefined },
    takeAway: () => {
      proxy.silence()
      return Promise.resolve()
    },
    close,
  }
}
