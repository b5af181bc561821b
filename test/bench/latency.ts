import Database from 'better-sqlite3'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { startChild } from './child.js'
import { openLoop } from './http-load.js'
import { leadFields, leadRequest } from './leads.js'
import { addWebhook, startMeasured, type Seeded } from './seed.js'
import { summaryOf, type Summary } from './summary.js'
import { openTools } from './tools.js'
import { sleep } from '../kit/time/until.js'

type Latency = Summary & {
  /**
   * Bytes that the file has in use for each lead, which one webhook takes. Infinite where some were not posted in time:
   * then they are fewer.
   */
  readonly diskPerLead: number
}

/** From sending a lead to its `started` at the receiver, at a steady rate. */
export const measureLatency = async (store: Seeded, perSecond: number, seconds: number): Promise<Latency> => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const tools = await openTools(store.directory)
  await addWebhook(tools, store.accountId, `http://127.0.0.1:${receiver.port}/`, 'started')
  await tools.close()
  const before = bytesUsedIn(store)
  const service = await startMeasured(store.directory)
  const sent = new Map<string, number>()
  const lead = leadRequest(store.path)
  const request = (serial: number): string => {
    sent.set(leadFields(serial).email, performance.timeOrigin + performance.now())
    return lead(serial)
  }
  const warmUp = 2 * perSecond
  const count = perSecond * seconds
  const first = 3_000_000
  await openLoop(
    { port: service.port, connections: 16, request, expectedStatus: 200 },
    perSecond,
    warmUp + count,
    first,
  )
  await sleep(1_000)
  const answer = await fetch(`http://127.0.0.1:${receiver.port}/`)
  const arrivals = new Map((await answer.json()) as ReadonlyArray<readonly [string, number]>)
  await service.stop()
  await receiver.stop()
  const latencies = [...sent].slice(warmUp).map(([email, at]) => (arrivals.get(email) ?? Number.POSITIVE_INFINITY) - at)
  const isAllPosted = [...sent.keys()].every((email) => arrivals.has(email))
  const diskPerLead = isAllPosted ? (bytesUsedIn(store) - before) / (warmUp + count) : Number.POSITIVE_INFINITY
  return { ...summaryOf(latencies, seconds), diskPerLead }
}

/** While no service runs on it. */
const bytesUsedIn = ({ directory }: Seeded): number => {
  const file = new Database(join(directory, 'leadloop.db'), { readonly: true })
  const number = (pragma: string): number => Number(file.pragma(pragma, { simple: true }))
  const bytes = (number('page_count') - number('freelist_count')) * number('page_size')
  file.close()
  return bytes
}
