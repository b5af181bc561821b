import { systemClock } from '../../adapters/node/clock.js'
import { randomIds } from '../../adapters/node/ids.js'
import { jsonLogger } from '../../adapters/node/logger.js'
import { monotonicClock } from '../../adapters/node/monotonic-clock.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow, StoreFailed } from '../../domain/store-failed.js'
import { appendLog, observedAppends } from '../commands/observed-appends.js'
import { drain, listen } from '../http/listener.js'
import { metrics as newMetrics, type Metrics } from '../http/monitoring/metrics.js'
import { refusedAppends } from '../http/monitoring/refused-appends.js'
import { httpServer, routesOf, type HttpServer } from '../http/server.js'
import { startingSurface } from '../http/monitoring/starting.js'
import type { Config } from './config.js'
import { openFirstAccount, type FirstAccount } from './start/first-account.js'
import { secretsFor } from './start/secrets.js'
import { serverWait, type ServerWait } from './start/server-wait.js'
import { firstEventOf, goOnFromNewest, ofNobodyElse, ofSameLog, wasEmptied, withinLog } from './start/store-checks.js'
import { openStores, type Stores } from './stores.js'
import { wire, type ObservedStores, type WiringPorts } from './wiring.js'

/** A service that runs. */
export type Service = {
  /** Where it listens. */
  readonly address: string
  /** Where clients reach it. */
  readonly siteUrl: string
  /** Set when this start made the operator key: it is shown now and never again. */
  readonly newOperatorKey: string | undefined
  /** Set when the store was empty, or nobody was shown the key of its first account yet. */
  readonly firstAccount: FirstAccount | undefined
  /** Takes no more requests, finishes those under way and closes everything; nothing is lost. */
  readonly stop: () => Promise<void>
}

type Ports = WiringPorts & { readonly clock: ReturnType<typeof systemClock> }

/**
 * Called before the service takes up its work: from then on it has leases to give back, however far its start has come.
 */
type WhenBegun = (stop: Service['stop']) => void

/** Wires the whole service and starts it; left: one sentence that says why it can't start. */
export const compose = async (
  config: Config,
  whenBegun: WhenBegun = () => undefined,
): Promise<Either<string, Service>> => {
  if (wasEmptied(config)) {
    return E.left('DATA_DIR: leadloop.db is empty, but secret-key says that there was data; put a backup in its place.')
  }
  const logger = jsonLogger(config.logLevel)
  const clock = systemClock(config.clockRate)
  const ids = randomIds(clock)
  const stores = await openStores(config, { newId: ids.ulid, logger })
  if (E.isLeft(stores)) return stores
  const logsAppends = ['debug', 'trace'].includes(config.logLevel)
  const { observe, appendFailure } = refusedAppends(monotonicClock)
  const observed = observedAppends(stores.right, logsAppends ? [observe, appendLog(logger)] : [observe])
  const ready = { logger, clock, ids, monotonic: monotonicClock }
  const front = frontOf(config, stores.right, ready)
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= stores.right.close())
  const giveUp = async (): Promise<void> => {
    front.server.close()
    await close()
  }
  try {
    const started = await start(config, { ...observed, appendFailure, close }, ready, { ...front, whenBegun })
    if (E.isLeft(started)) await giveUp()
    return started
  } catch (error) {
    await giveUp()
    if (error instanceof StoreFailed) return E.left(`The stores can't be used: ${error.message}.`)
    throw error
  }
}

/** What listens at once, and says meanwhile what the start waits for. */
type Front = HttpServer & { readonly wait: ServerWait; readonly metrics: Metrics }

const frontOf = (config: Config, stores: Stores, ports: Ports): Front => {
  const { logger } = ports
  const wait = serverWait(config, stores, ports)
  const metrics = newMetrics()
  const starting = routesOf(startingSurface(wait.waitingFor), logger)
  return { ...httpServer(starting, { logger, observe: metrics.request }), wait, metrics }
}

const start = async (
  config: Config,
  stores: ObservedStores,
  ports: Ports,
  { server, serve, wait, metrics, whenBegun }: Front & { readonly whenBegun: WhenBegun },
): Promise<Either<string, Service>> => {
  const listening = await listen(server, config)
  if (E.isLeft(listening)) return listening
  const address = listening.right
  ports.logger.info({ address }, 'listening')
  const first = await wait.answered(async () => E.right(await firstEventOf(stores.store)))
  if (E.isLeft(first)) return first
  const secrets = secretsFor(config, first.right)
  if (E.isLeft(secrets)) return secrets
  const own = await wait.answered(() => ofNobodyElse(stores))
  if (E.isLeft(own)) return own
  const same = await wait.answered(() => ofSameLog(stores.documents, first.right))
  if (E.isLeft(same)) return same
  const within = await wait.answered(() => withinLog(stores, ports.monotonic))
  if (E.isLeft(within)) return within
  const head = await wait.answered(async () => {
    await goOnFromNewest(config, stores.store, ports.clock)
    return E.right(orThrow(await stores.store.head()))
  })
  if (E.isLeft(head)) return head

  const { routes, background, manage, tellAddress, drainRequests, close } = wire(
    config,
    { ...ports, stores, secrets: secrets.right, head: head.right },
    metrics,
  )
  const end = async (): Promise<void> => {
    ports.logger.info({}, 'stopping')
    drainRequests()
    await drain(server)
    await background.stop()
    close()
    await stores.close()
    ports.logger.info({}, 'stopped')
  }
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= end())
  const isStopped = (): boolean => stopped !== undefined
  const siteUrl = tellAddress(address)
  whenBegun(stop)
  await background.begin(head.right)
  if (isStopped()) {
    await stop()
    return E.left('It was stopped before it had begun.')
  }
  serve(routes)
  const opening = { ...manage, documents: stores.documents, membership: stores.membership, monotonic: ports.monotonic }
  const isLogEmpty = first.right === undefined
  const firstAccount = config.roles.has('api') ? await openFirstAccount(opening, isLogEmpty) : undefined
  return E.right({ address, siteUrl, newOperatorKey: secrets.right.newOperatorKey, firstAccount, stop })
}
