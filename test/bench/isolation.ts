import { rmSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { PlaybookId, SourceId, WebhookId } from '../../domain/ids.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { playbook } from '../../domain/playbook.js'
import { defaultSettings } from '../../domain/playbook-settings.js'
import { arrivals, arrivalsAt } from './arrivals.js'
import { startChild, type Child } from './child.js'
import { openLoop } from './http-load.js'
import { leadFields, leadRequest } from './leads.js'
import { addWebhook, makeDue, seed, startMeasured, type Seeded } from './seed.js'
import { median, medianOf, summaryOf, type Summary } from './summary.js'
import { forEach, openTools, type Tools } from './tools.js'

type IsolationLoad = {
  readonly rounds: number
  readonly healthy: number
  /** Leads a second, each of which goes to one of the healthy webhooks, and for how long. */
  readonly perSecond: number
  readonly seconds: number
  /** Deliveries to the healthy webhooks that are due at once. */
  readonly backlog: number
  /** Deliveries that are due to each of the bad endpoints. */
  readonly dueToBad: number
}

/** From sending a lead to its `started` at the receiver, and posts a second where as many are due as can be posted. */
type Delivered = { readonly latency: Summary; readonly throughput: number }

type Isolation = { readonly alone: Delivered; readonly beset: Delivered }

type Healthy = {
  readonly store: Seeded
  readonly webhooks: ReadonlyArray<WebhookId>
  readonly paths: ReadonlyArray<string>
}

const badPaths = ['/silent', '/drips', '/late']

/** Many healthy webhooks, alone and beside three bad endpoints in the same service. */
export const measureIsolation = async (load: IsolationLoad): Promise<Isolation> => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const bad = await startChild('dist/test/bench/bad-receiver.js', {})
  const alone = await seedHealthy(receiver, load.healthy)
  const beset = await seedHealthy(receiver, load.healthy)
  try {
    await seedBad(beset.store, bad, load.dueToBad)
    const measured: { readonly alone: Array<Delivered>; readonly beset: Array<Delivered> } = { alone: [], beset: [] }
    let serial = 5_000_000
    for (let round = 0; round <= load.rounds; round += 1) {
      const turns = [{ kind: 'alone', where: alone } as const, { kind: 'beset', where: beset } as const]
      for (const { kind, where } of round % 2 === 0 ? turns : turns.reverse()) {
        const delivered = await measureOnce(where, receiver, load, serial)
        serial += (load.seconds + warmUpSeconds) * load.perSecond
        // The first round warms up.
        if (round > 0) measured[kind].push(delivered)
      }
    }
    return { alone: medianDelivered(measured.alone), beset: medianDelivered(measured.beset) }
  } finally {
    await receiver.stop()
    await bad.stop()
    for (const { store } of [alone, beset]) rmSync(store.directory, { recursive: true, force: true })
  }
}

const warmUpSeconds = 2

const measureOnce = async (
  { store, webhooks, paths }: Healthy,
  receiver: Child,
  { perSecond, seconds, backlog }: IsolationLoad,
  firstSerial: number,
): Promise<Delivered> => {
  const tools = await openTools(store.directory)
  await forEach(backlog, (n) => makeDueTo(tools, store, webhooks[n % webhooks.length]))
  await tools.close()
  await arrivalsAt(receiver)
  const service = await startMeasured(store.directory)
  const drained = await arrivals(receiver, backlog)
  const [first, last] = [drained[0]?.[1] ?? 0, drained.at(-1)?.[1] ?? 0]
  const throughput = backlog / ((last - first) / 1_000)

  const sent = new Map<string, number>()
  const requests = paths.map(leadRequest)
  const request = (serial: number): string => {
    sent.set(leadFields(serial).email, performance.timeOrigin + performance.now())
    return requests[serial % requests.length]?.(serial) ?? ''
  }
  const count = perSecond * (warmUpSeconds + seconds)
  await openLoop({ port: service.port, connections: 16, request, expectedStatus: 200 }, perSecond, count, firstSerial)
  const arrived = new Map(await arrivals(receiver, count))
  await service.stop()
  const latencies = [...sent]
    .slice(perSecond * warmUpSeconds)
    .map(([email, at]) => (arrived.get(email) ?? Number.POSITIVE_INFINITY) - at)
  return { latency: summaryOf(latencies, seconds), throughput }
}

const medianDelivered = (all: ReadonlyArray<Delivered>): Delivered => ({
  latency: medianOf(all.map(({ latency }) => latency)),
  throughput: median(all.map(({ throughput }) => throughput)),
})

/** A store whose webhooks each have a playbook and a source of their own, so that each lead goes to one of them. */
const seedHealthy = async (receiver: Child, count: number): Promise<Healthy> => {
  const store = await seed(0)
  const { accountId } = store
  const tools = await openTools(store.directory)
  const webhooks: Array<WebhookId> = []
  const paths: Array<string> = []
  await forEach(count, async (n) => {
    const playbookId: PlaybookId = `ply_${tools.ids.ulid()}`
    const title = `Playbook ${n}`
    const settings = { ...defaultSettings, title, steps: [] }
    await tools.run(playbook, playbookId, { type: 'CreatePlaybook', playbookId, accountId, settings })
    const sourceId: SourceId = `mks_${tools.ids.ulid()}`
    const source = { sourceId, accountId, title: `Source ${n}`, playbookId, originatorField: null }
    await tools.run(marketingSource, sourceId, { type: 'CreateSource', ...source })
    webhooks.push(await addWebhook(tools, accountId, `http://127.0.0.1:${receiver.port}/`, 'started', playbookId))
    paths.push(`/marketing_sources/${accountId}/${sourceId}`)
  })
  await tools.close()
  return { store, webhooks, paths }
}

const seedBad = async (store: Seeded, bad: Child, due: number): Promise<void> => {
  const tools = await openTools(store.directory)
  for (const path of badPaths) {
    const webhookId = await addWebhook(tools, store.accountId, `http://127.0.0.1:${bad.port}${path}`, 'dormant')
    await forEach(due, () => makeDueTo(tools, store, webhookId))
  }
  await tools.close()
}

const makeDueTo = async (tools: Tools, { accountId }: Seeded, webhookId: WebhookId | undefined): Promise<void> => {
  if (webhookId === undefined) return
  const who = { contact_id: `nct_${tools.ids.ulid()}`, engagement_id: `neg_${tools.ids.ulid()}` } as const
  await makeDue(tools, accountId, webhookId, who)
}
