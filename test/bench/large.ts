import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { deliveries } from '../../projections/read-models/deliveries.js'
import { deliveryFanOut } from '../../projections/delivery/fan-out/fan-out.js'
import { webhookShards } from '../../projections/delivery/webhook-shards.js'
import { deliveryWorker } from '../../projections/delivery/worker.js'
import { collectionOf } from '../../projections/projection.js'
import { checkpointIn } from '../../projections/subscriptions/checkpoint.js'
import { follow } from '../../projections/subscriptions/follower.js'
import { failingWork } from '../../projections/subscriptions/retries/failing-work.js'
import { neverAborted } from '../../domain/abortable.js'
import { webhook } from '../../domain/webhook.js'
import { loadState } from '../../app/commands/states/current-states.js'
import { singleProcessMembership } from '../../adapters/in-process/single-process-leases.js'
import { recordingLogger } from '../kit/parts/recording-logger.js'
import { watchedHistory } from '../kit/parts/watched-history.js'
import { nextTurn, turnTime } from '../kit/time/turns.js'
import { sleep, until } from '../kit/time/until.js'
import { startChild, type Child } from './child.js'
import { closedLoop } from './http-load.js'
import { seedLarge, type Extent } from './large-log.js'
import { leadRequest } from './leads.js'
import { caughtUp, startMeasured, type Seeded } from './seed.js'
import { measureServerTakeover } from './server-takeover.js'
import { isReady } from '../kit/service/readiness.js'
import { median } from './summary.js'
import { openTools, orFail } from './tools.js'

type LargeLoad = {
  readonly rounds: number
  readonly few: Extent
  /** Of this one only starts are measured. */
  readonly some: Extent
  readonly many: Extent
  /** Seconds of load before each kill. */
  readonly seconds: number
}

/** In milliseconds, medians. */
type Large = {
  readonly some: { readonly events: number; readonly readyAfterStop: number }
  readonly events: number
  /** From a start until `/health/ready` says ready, after an orderly end and after a kill under load. */
  readonly readyAfterStop: number
  readonly readyAfterKill: number
  /** From the kill of a process until the next one on its folder has delivered something. */
  readonly deliveredAfterKill: number
  readonly takeover: Takeover
  /** Of a process on servers, with a small log; undefined where no server was given. */
  readonly serverTakeover: number | undefined
  readonly few: Answers
  readonly many: Answers
}

/**
 * How long a process that got all leases reads before its first request to a webhook, and how many events of the log.
 */
type Takeover = { readonly milliseconds: number; readonly events: number }

/** How long `/metrics` and `/health/ready` take at rest. */
type Answers = { readonly metrics: number; readonly health: number }

const longestWait = 120_000

/**
 * Starts, takeovers and what is asked of a service by whoever watches over it, on a log of a few events and of very
 * many.
 */
export const measureLarge = async (load: LargeLoad, say: (text: string) => void): Promise<Large> => {
  const bad = await startChild('dist/test/bench/bad-receiver.js', {})
  const healthy = await healthyReceiver()
  const receivers = { silent: `http://127.0.0.1:${bad.port}/silent`, healthy: healthy.url }
  const stores: Array<Seeded> = []
  const seeded = async (extent: Extent): Promise<Seeded> => {
    const begun = performance.now()
    const store = await seedLarge(extent, receivers)
    stores.push(store)
    say(
      `seeded ${store.events} events, ${extent.due} deliveries due, in ${((performance.now() - begun) / 1_000).toFixed(0)} s`,
    )
    return store
  }
  try {
    const mongoUrl = process.env['MONGODB_URL']
    const serverTakeover = mongoUrl === undefined ? undefined : await measureServerTakeover(mongoUrl, healthy)
    const some = await seeded(load.some)
    const starts: Array<number> = []
    // The first one builds the read models.
    for (let round = 0; round <= load.rounds; round += 1) {
      const { service, startupTime } = await started(some)
      await caughtUp(service)
      await service.stop()
      if (round > 0) starts.push(startupTime)
    }
    const small = await seeded(load.few)
    const large = await seeded(load.many)
    const takeover = await measureTakeover(large)
    const answers = await answersOf(small, large)
    const samples: Array<Awaited<ReturnType<typeof startAndKill>>> = []
    for (let round = 0; round < load.rounds; round += 1)
      samples.push(await startAndKill(large, healthy, load.seconds, round))
    const of = (name: 'readyAfterStop' | 'readyAfterKill' | 'deliveredAfterKill'): number =>
      median(samples.map((sample) => sample[name]))
    return {
      some: { events: some.events, readyAfterStop: median(starts) },
      events: large.events,
      readyAfterStop: of('readyAfterStop'),
      readyAfterKill: of('readyAfterKill'),
      deliveredAfterKill: of('deliveredAfterKill'),
      takeover,
      serverTakeover,
      ...answers,
    }
  } finally {
    healthy.close()
    await bad.stop()
    for (const { directory } of stores) rmSync(directory, { recursive: true, force: true })
  }
}

/** Takes everything at once, and counts what came to each path. */
const healthyReceiver = async () => {
  const arrivals = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').slice(1)
    arrivals.set(path, (arrivals.get(path) ?? 0) + 1)
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals: (path = ''): number => arrivals.get(path) ?? 0,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

type Receiver = Awaited<ReturnType<typeof healthyReceiver>>

/** A service that is ready, and how long that took. */
const started = async ({ directory }: Seeded): Promise<{ readonly service: Child; readonly startupTime: number }> => {
  const begun = performance.now()
  const service = await startMeasured(directory)
  while (!(await isReady(service))) await sleep(10)
  return { service, startupTime: performance.now() - begun }
}

/** A life that begins after an orderly end and ends with a kill under load, and the start of the next one. */
const startAndKill = async (store: Seeded, healthy: Receiver, seconds: number, round: number) => {
  const { service, startupTime: readyAfterStop } = await started(store)
  const { port } = service
  const load = { port, connections: 64, request: leadRequest(store.path), expectedStatus: 200, seconds }
  await closedLoop(load, 2_000_000 + round * 1_000_000)
  const begun = performance.now()
  await service.kill()
  const before = healthy.arrivals()
  const next = started(store)
  await until('the next process delivers', longestWait, () => healthy.arrivals() > before)
  const deliveredAfterKill = performance.now() - begun
  const { service: last, startupTime: readyAfterKill } = await next
  await last.stop()
  return { readyAfterStop, readyAfterKill, deliveredAfterKill }
}

const asked = 41

/** Both are asked by turns, so that whatever else the machine does slows both down. */
const answersOf = async (fewIn: Seeded, manyIn: Seeded): Promise<{ readonly few: Answers; readonly many: Answers }> => {
  const few = (await started(fewIn)).service
  const many = (await started(manyIn)).service
  await sleep(3_000)
  const timed = async (path: string): Promise<readonly [number, number]> => {
    const times: readonly [Array<number>, Array<number>] = [[], []]
    for (let nth = 0; nth < 2 * asked; nth += 1) {
      const begun = performance.now()
      await (await fetch(`http://127.0.0.1:${(nth % 2 === 0 ? few : many).port}${path}`)).text()
      times[nth % 2 === 0 ? 0 : 1].push(performance.now() - begun)
    }
    return [median(times[0]), median(times[1])]
  }
  const metrics = await timed('/metrics')
  const health = await timed('/health/ready')
  await few.stop()
  await many.stop()
  return { few: { metrics: metrics[0], health: health[0] }, many: { metrics: metrics[1], health: health[1] } }
}

/**
 * What the fan-out and the worker read at a takeover, at their ports: they ask the same questions whichever stores
 * answer them. Until the first request to a webhook.
 */
const measureTakeover = async ({ directory }: Seeded): Promise<Takeover> => {
  const tools = await openTools(directory)
  const { store, read } = watchedHistory(tools.store)
  const ports = { ...tools, store, logger: recordingLogger(), backoff: nextTurn }
  const begun = performance.now()
  let firstRequest: number | undefined
  const checkpoint = checkpointIn(tools.documents, 'delivery_projector', 1n)
  await deliveryFanOut({ ...ports, hasErasures: () => Promise.resolve(false), checkpoint }).begin(neverAborted)
  const worker = deliveryWorker({
    ...ports,
    failingWork: failingWork(turnTime),
    deliveriesFollower: {
      position: async () => orFail(await tools.documents.checkpoint(collectionOf(deliveries))),
      caughtUpTo: () => Promise.resolve(),
    },
    currentWebhook: (id) => loadState(tools.commandHandler, webhook, id),
    hasErasures: () => Promise.resolve(false),
    random: () => 0.5,
    observe: () => undefined,
    webhookClient: {
      send: () => {
        firstRequest ??= performance.now() - begun
        return new Promise(() => undefined)
      },
    },
  })
  // Nobody answers the requests, so they are still open when the store is closed.
  const following = follow(worker.follower, ports)
  singleProcessMembership().share('delivery', () => webhookShards.names, worker.work)
  await until('the first request', longestWait, () => firstRequest !== undefined)
  await following.stop()
  await tools.close()
  return { milliseconds: firstRequest ?? Number.NaN, events: read.events }
}
