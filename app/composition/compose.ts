import { existsSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as slept } from 'node:timers/promises'
import { systemClock } from '../../adapters/node/clock.js'
import { randomIds } from '../../adapters/node/ids.js'
import { jsonLogger } from '../../adapters/node/logger.js'
import { webhookSender } from '../../adapters/webhook/sender.js'
import { webhookUrlProblem } from '../../adapters/webhook/addresses/url-problem.js'
import type { DomainEvent } from '../../domain/events.js'
import { beginning, type Recorded } from '../../domain/event.js'
import type { Clock, EventStore, Ids, Logger } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { StoreFailed } from '../../domain/store-failed.js'
import { checkpointCollection } from '../../projections/subscriptions/checkpoint.js'
import { commands as commandsOf } from '../commands/client-commands.js'
import type { Config } from './config.js'
import { dispatcher } from '../commands/command-handler.js'
import { openFirstAccount, type FirstAccount } from './first-account.js'
import { followedLog } from './subscriptions.js'
import { healthSurface } from '../http/health.js'
import { metricsSurface } from '../http/metrics-surface.js'
import { rateLimit } from '../http/rate-limit.js'
import { httpServer, mounted } from '../http/server.js'
import { intakeSurface } from '../intake/surface.js'
import { keptStreams } from '../commands/aggregate-cache.js'
import type { ManagePorts } from '../manage/ports.js'
import { manageSurface } from '../manage/surface.js'
import { metrics as metricsOf } from '../http/metrics.js'
import { outgoingMail } from './mail.js'
import { queries as queriesOf } from '../../projections/queries.js'
import { reactor as reactorOf } from '../commands/reactor.js'
import { restSurface } from '../rest/surface.js'
import { ofSameLog } from './same-log.js'
import { secretKeyFile, secretsFor } from './secrets.js'
import { openStores, type Stores } from './stores.js'

/** A service that runs. */
export type Service = {
  /** Where it listens. */
  readonly address: string
  /** Where clients reach it. */
  readonly siteUrl: string
  /** Set when this start made the operator key: it is shown now and never again. */
  readonly newOperatorKey: string | undefined
  /** Set when the store was empty. */
  readonly firstAccount: FirstAccount | undefined
  /** Takes no more requests, finishes those under way and closes everything; nothing is lost. */
  readonly stop: () => Promise<void>
}

/** Wires the whole service and starts it; left: one sentence that says why it can't start. */
export const compose = async (config: Config): Promise<Either<string, Service>> => {
  if (wasEmptied(config)) {
    return E.left('DATA_DIR: leadloop.db is empty, but secret-key says that there was data; put a backup in its place.')
  }
  const logger = jsonLogger(config.logLevel)
  const clock = systemClock(config.clockRate)
  const ids = randomIds(clock)
  const stores = await openStores(config, { newId: ids.ulid, logger })
  if (E.isLeft(stores)) return stores
  try {
    const started = await start(config, stores.right, { logger, clock, ids })
    if (E.isLeft(started)) await stores.right.close()
    return started
  } catch (error) {
    await stores.right.close()
    if (error instanceof StoreFailed) return E.left(`The stores can't be used: ${error.message}.`)
    throw error
  }
}

type Means = { readonly logger: Logger; readonly clock: Clock; readonly ids: Ids }

const start = async (
  config: Config,
  stores: Stores,
  { logger, clock, ids }: Means,
): Promise<Either<string, Service>> => {
  const { store, documents, isShared } = stores
  const answering = await serversAnswer(config, stores)
  if (E.isLeft(answering)) return answering
  const first = await firstEventOf(store)
  const secrets = secretsFor(config, first)
  if (E.isLeft(secrets)) return secrets
  const { vault, operatorKey, newOperatorKey } = secrets.right
  const same = await ofSameLog(documents, first)
  if (E.isLeft(same)) return same

  const metrics = metricsOf()
  const sender = webhookSender({ allowPrivate: config.allowPrivateWebhooks })
  const mail = outgoingMail(config)
  const kept = keptStreams(isShared)
  const dispatch = dispatcher({ store, clock, kept, isShared })
  const reactor = reactorOf({ dispatch, clock, logger })
  const address = { url: '' }
  const siteUrl = (): string => config.publicUrl ?? address.url
  let tellSiteUrl: (url: string) => void = () => undefined
  const followed = followedLog({
    stores,
    roles: config.roles,
    dispatch,
    kept,
    reactor,
    sender,
    mail,
    siteUrl: new Promise((resolve) => (tellSiteUrl = resolve)),
    vault,
    clock,
    ids,
    logger,
    wait: waited,
    observe: metrics.attempt,
  })
  const { followers, isBehind } = followed
  metrics.watch(store, followers, followed.openRequests)

  const commands = commandsOf({ store, dispatch, reactor, ids, readModels: followed.readModels, seen: followed.seen })
  const queries = queriesOf({ store, documents, isBehind })
  metrics.watchDeliveries(queries, clock)
  const limits = rateLimit(clock)
  const manage: ManagePorts = {
    store,
    dispatch,
    commands,
    queries,
    vault,
    ids,
    clock,
    sender,
    rateLimit: limits,
    siteUrl,
    webhookUrlProblem: (url) => webhookUrlProblem(url, config.allowPrivateWebhooks),
  }
  const api = [
    mounted(restSurface({ dispatch, vault, rateLimit: limits, queries, commands, clock, isBehind }), logger),
    mounted(intakeSurface({ dispatch, commands, vault, ids, clock, rateLimit: limits }), logger),
    mounted(manageSurface(manage, operatorKey), logger),
  ]
  const server = httpServer(
    [
      ...(config.roles.has('api') ? api : []),
      mounted(healthSurface({ store, followers }), logger),
      mounted(metricsSurface(metrics), logger),
    ],
    { logger, observe: metrics.request },
  )

  const stop = async (): Promise<void> => {
    await closed(server)
    await followed.stop()
    sender.close()
    mail.close()
    await stores.close()
  }
  await followed.begin()
  const listening = await listen(server, config)
  if (E.isLeft(listening)) {
    await stop()
    return listening
  }
  address.url = listening.right
  tellSiteUrl(siteUrl())
  logger.info({ address: address.url }, 'listening')
  const isFirstStart = first === undefined && config.roles.has('api')
  const firstAccount = isFirstStart ? await openFirstAccount(manage) : undefined
  return E.right({ address: address.url, siteUrl: siteUrl(), newOperatorKey, firstAccount, stop })
}

/** The key is made after the file got its first page, so an empty file beside a key has lost what it held. */
const wasEmptied = (config: Config): boolean => {
  const file = join(config.dataDir, 'leadloop.db')
  return existsSync(file) && statSync(file).size === 0 && existsSync(secretKeyFile(config))
}

/** In milliseconds: a server that starts together with us may take so long. */
const longestStart = 30_000

/** In real time, whatever the clock of the service shows: stores know no faster one. */
const waited = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  slept(milliseconds, undefined, { signal }).catch(() => undefined)

/** Waits for the servers that the settings name. */
const serversAnswer = async (config: Config, { store, documents }: Stores): Promise<Either<string, undefined>> => {
  const servers = [
    { setting: 'EVENTSTORE_URL', url: config.eventStoreUrl, ask: store.head },
    { setting: 'MONGODB_URL', url: config.mongoUrl, ask: () => documents.exists(checkpointCollection('reactions')) },
  ]
  const late = AbortSignal.timeout(longestStart)
  for (const { setting, ask } of servers.filter(({ url }) => url !== undefined)) {
    while (E.isLeft(await ask())) {
      if (late.aborted) return E.left(`${setting}: no server answers there.`)
      await waited(500, late)
    }
  }
  return E.right(undefined)
}

/** An account begins every log; undefined while the log is empty. */
const firstEventOf = async (store: EventStore): Promise<Recorded<DomainEvent> | undefined> => {
  for await (const { events } of store.history(beginning, ['account'])) if (events[0] !== undefined) return events[0]
  return undefined
}

const listen = (server: Server, { host, port }: Config): Promise<Either<string, string>> =>
  new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const setting = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? 'PORT' : 'HOST'
      resolve(E.left(`${setting}: nothing can listen at ${host} port ${port} (${error.code ?? error.name}).`))
    })
    server.listen(port, host, () => {
      const { port: bound } = server.address() as AddressInfo
      const name = host.includes(':') ? `[${host}]` : host
      resolve(E.right(`http://${name}:${bound}`))
    })
  })

/** Requests under way are finished; connections that are kept open without one are closed. */
const closed = async (server: Server): Promise<void> => {
  const done = new Promise<void>((resolve) => {
    server.close(() => {
      resolve()
    })
  })
  const sweep = setInterval(() => {
    server.closeIdleConnections()
  }, 20)
  const giveUp = setTimeout(() => {
    server.closeAllConnections()
  }, 10_000)
  await done
  clearInterval(sweep)
  clearTimeout(giveUp)
}
