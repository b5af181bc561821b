import Database from 'better-sqlite3'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startChild, type Child } from './child.js'
import type { WebhookId } from '../../domain/ids.js'
import { addWebhook, makeDue, sampleBody, startMeasured, type Seeded } from './seed.js'
import { median, type Compared, type Summary } from './summary.js'
import { forEach, openTools } from './tools.js'
import { sleep } from '../kit/time/until.js'

/** As many webhooks as make this many open requests, at eight a webhook. */
const webhooks = 8
const concurrency = 64

/** `started` deliveries that are due, each attempt recorded, beside a bare node-fetch loop to the same receiver. */
export const measureDeliveries = async (store: Seeded, rounds: number, count: number): Promise<Compared> => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const ours: Array<Summary> = []
  const theirs: Array<number> = []
  let memory = 0
  for (let round = 0; round <= rounds; round += 1) {
    const bare = await bareRate(receiver, count)
    await makeBacklog(store, receiver, count)
    const head = headOf(store)
    const service = await startMeasured(store.directory)
    const measured = await drained(store, count, head)
    memory = service.memory()
    await service.stop()
    // The first round warms up the disk and the receiver.
    if (round > 0) {
      theirs.push(bare)
      ours.push(measured)
    }
  }
  await receiver.stop()
  const none = { p50: Number.NaN, p99: Number.NaN }
  return {
    ours: {
      perSecond: median(ours.map(({ perSecond }) => perSecond)),
      p50: median(ours.map(({ p50 }) => p50)),
      p99: median(ours.map(({ p99 }) => p99)),
    },
    theirs: { perSecond: median(theirs), ...none },
    memory,
  }
}

const bareRate = async (receiver: Child, count: number): Promise<number> => {
  const settings = { URL: `http://127.0.0.1:${receiver.port}/`, COUNT: String(count), CONCURRENCY: String(concurrency) }
  const { stdout } = await promisify(execFile)(process.execPath, ['dist/test/bench/bare-client.js'], {
    env: { ...settings, BODY: sampleBody },
  })
  return Number(stdout)
}

export const makeBacklog = async ({ directory, accountId }: Seeded, receiver: Child, count: number): Promise<void> => {
  const tools = await openTools(directory)
  const ids: Array<WebhookId> = []
  for (let index = 0; index < webhooks; index += 1) {
    ids.push(await addWebhook(tools, accountId, `http://127.0.0.1:${receiver.port}/`, 'dormant'))
  }
  await forEach(count, async (serial) => {
    const who = { contact_id: `nct_${tools.ids.ulid()}`, engagement_id: `neg_${tools.ids.ulid()}` } as const
    const webhookId = ids[serial % webhooks]
    if (webhookId !== undefined) await makeDue(tools, accountId, webhookId, who)
  })
  await tools.close()
}

/** The position up to which a log reaches before the service under measurement writes to it. */
export const headOf = ({ directory }: Seeded): number => {
  const log = openedLog(directory)
  const head = log.prepare<[], number>('SELECT max(position) FROM events').pluck().get() ?? 0
  log.close()
  return head
}

type Success = { readonly position: number; readonly time: string; readonly data: string }

/**
 * Waits until so many are recorded after a position of the log, and reads from it how long that took. Each look reads
 * only what is new: one at the whole log would take the processor from the service.
 */
export const drained = async ({ directory }: Seeded, count: number, head: number): Promise<Summary> => {
  const log = openedLog(directory)
  const newer = log.prepare<[number], Success>(
    `SELECT position, time, data FROM events
     WHERE category = 'delivery' AND position > ? AND type = 'DeliverySucceeded' ORDER BY position`,
  )
  const rows: Array<Success> = []
  while (rows.length < count) {
    await sleep(200)
    rows.push(...newer.all(rows.at(-1)?.position ?? head))
  }
  log.close()
  const times = rows.map(({ time }) => Date.parse(time)).sort((one, other) => one - other)
  const durations = rows
    .map(({ data }) => (JSON.parse(data) as { outcome: { duration_ms: number } }).outcome.duration_ms)
    .sort((one, other) => one - other)
  return {
    perSecond: count / (((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000),
    p50: durations[Math.floor(count * 0.5)] ?? Number.NaN,
    p99: durations[Math.floor(count * 0.99)] ?? Number.NaN,
  }
}

const openedLog = (directory: string): Database.Database =>
  new Database(join(directory, 'leadloop.db'), { readonly: true })
