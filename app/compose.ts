import { existsSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { randomInt } from 'node:crypto'
import { systemClock } from '../adapters/clock.js'
import { sqliteDocuments } from '../adapters/documents/sqlite.js'
import { sqliteEventStore } from '../adapters/event-store/sqlite.js'
import { randomIds } from '../adapters/ids.js'
import { keptSecret } from '../adapters/key-file.js'
import { jsonLogger } from '../adapters/logger.js'
import { openDatabase } from '../adapters/sqlite/database.js'
import { aesVault } from '../adapters/vault.js'
import { webhookSender, webhookUrlProblem } from '../adapters/webhook.js'
import { beginning, type Position } from '../domain/event.js'
import { instantOf, millisecondsOf } from '../domain/instant.js'
import type { EventStore, Vault } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import { StoreFailed } from '../domain/store-failed.js'
import { checkpointIn } from '../projections/checkpoint.js'
import { deliveries } from '../projections/deliveries.js'
import { deliveryProjector } from '../projections/delivery/projector.js'
import { deliveryWorker } from '../projections/delivery/worker.js'
import { follow, type FollowPorts } from '../projections/follower.js'
import { readModels } from '../projections/read-models.js'
import { runProjection } from '../projections/runner.js'
import { buildMissing } from './build-missing.js'
import { commands as commandsOf } from './commands.js'
import type { Config } from './config.js'
import { dispatcher } from './dispatch.js'
import { openFirstAccount, type FirstAccount } from './first-account.js'
import { healthSurface } from './http/health.js'
import { httpServer, mounted } from './http/server.js'
import { metricsSurface } from './http/metrics-surface.js'
import { rateLimit } from './http/rate-limit.js'
import { intakeSurface } from './intake/surface.js'
import type { ManagePorts } from './manage/ports.js'
import { manageSurface } from './manage/surface.js'
import { keptStreams } from './kept-streams.js'
import { metrics as metricsOf } from './metrics.js'
import { queries as queriesOf } from './queries.js'
import { reactor as reactorOf } from './reactor.js'
import { restSurface } from './rest/surface.js'
import { traceOf } from './trace.js'

/** A service that runs. */
export type Service = {
  /** Where it listens. */
  readonly address: string
  /** Set when this start made the operator key: it is shown now and never again. */
  readonly newOperatorKey: string | undefined
  /** Set when the store was empty. */
  readonly firstAccount: FirstAccount | undefined
  /** Takes no more requests, finishes those under way and closes everything; nothing is lost. */
  readonly stop: () => Promise<void>
}

/** How long a store that failed is left alone, in milliseconds. */
const pauseLength = 200

/** Wires the whole service and starts it; left: one sentence that says why it can't start. */
export const compose = async (config: Config): Promise<Either<string, Service>> => {
  try {
    return await started(config)
  } catch (error) {
    if (error instanceof StoreFailed) return E.left(`DATA_DIR: ${error.message}.`)
    throw error
  }
}

const started = async (config: Config): Promise<Either<string, Service>> => {
  if (wasEmptied(config)) {
    return E.left('DATA_DIR: leadloop.db is empty, but secret-key says that there was data; put a backup in its place.')
  }
  const logger = jsonLogger(config.logLevel)
  const clock = systemClock(config.clockRate)
  const opened = await openDatabase(config.dataDir)
  if (E.isLeft(opened)) return E.left(`DATA_DIR: ${opened.left.reason}.`)
  const database = opened.right
  const store = sqliteEventStore(database)
  const documents = sqliteDocuments(database)
  if (config.secretKey === undefined && (await lacksItsKey(store, secretKeyFile(config)))) {
    await database.close()
    return E.left('SECRET_KEY: there is data but no secret-key; put the file beside it that the store was begun with.')
  }
  const secretKey = config.secretKey ?? Buffer.from(keptSecret(secretKeyFile(config)).secret, 'base64url')
  if (secretKey.length !== 32) {
    await database.close()
    return E.left('SECRET_KEY: the file secret-key must hold 32 bytes in base64.')
  }
  const vault = aesVault(secretKey)
  if (!(await isRightKey(store, vault))) {
    await database.close()
    return E.left('SECRET_KEY: this key does not open what is stored; give the one that the store was begun with.')
  }
  const operator =
    config.operatorKey === undefined
      ? keptSecret(join(config.dataDir, 'operator-key'))
      : { secret: config.operatorKey, isNew: false }

  const ids = randomIds(clock)
  const metrics = metricsOf()
  const pause: FollowPorts['pause'] = (signal) => {
    const until = instantOf(millisecondsOf(clock.now()) + pauseLength * config.clockRate)
    return clock.sleepUntil(until, signal)
  }
  const following: FollowPorts = { store, logger, pause }
  const sender = webhookSender({ allowPrivate: config.allowPrivateWebhooks })
  await buildMissing(readModels, { store, documents, logger })

  const dispatch = dispatcher({ store, clock, kept: keptStreams(), isShared: false })
  const reactions = checkpointIn(documents, 'reactions')
  const reactor = reactorOf({ dispatch, checkpoint: reactions, clock, logger })
  const projected = checkpointIn(documents, 'delivery_projector')
  const worker = deliveryWorker({
    store,
    documents,
    dispatch,
    sender,
    vault,
    clock,
    ids,
    logger,
    random: () => randomInt(1_000_000) / 1_000_000,
    projected: (position: Position) => deliveriesRunning?.reached(position) ?? Promise.resolve(),
    pause,
    observe: metrics.attempt,
  })
  const running = readModels.map((projection) =>
    runProjection(projection, {
      ...following,
      documents,
      changed: (name, changes) => {
        if (name === deliveries.name) worker.changed(changes)
      },
    }),
  )
  const deliveriesRunning = running.find(({ name }) => name === deliveries.name)
  const reacting = follow(reactor.follower, following)
  const projecting = follow(deliveryProjector({ store, dispatch, checkpoint: projected, clock }), following)
  const followers = [...running, reacting, projecting]
  metrics.watch(store, followers, worker.open)

  const commands = commandsOf({ dispatch, reactor, store, ids, readModels: running })
  const queries = queriesOf({ store, documents, isBehind: reactor.isBehind })
  const limits = rateLimit(clock)
  const address = { url: '' }
  const manage: ManagePorts = {
    dispatch,
    commands,
    queries,
    vault,
    ids,
    clock,
    siteUrl: () => config.publicUrl ?? address.url,
    webhookUrlProblem: (url) => webhookUrlProblem(url, config.allowPrivateWebhooks),
  }
  const server = httpServer(
    [
      mounted(
        restSurface({ dispatch, vault, rateLimit: limits, queries, commands, clock, isBehind: reactor.isBehind }),
        logger,
      ),
      mounted(intakeSurface({ store, dispatch, commands, vault, ids, clock, rateLimit: limits }), logger),
      mounted(manageSurface(manage, operator.secret), logger),
      mounted(healthSurface({ store, following: followers }), logger),
      mounted(metricsSurface(metrics), logger),
    ],
    { logger, observe: metrics.request },
  )

  const head = await store.head()
  if (E.isRight(head)) await Promise.all(followers.map((follower) => follower.reached(head.right)))
  await worker.start()
  const listening = await listen(server, config)
  const stop = async (): Promise<void> => {
    await closed(server)
    await worker.stop()
    const reached = { reactions: reacting.position(), projected: projecting.position() }
    await Promise.all(followers.map((follower) => follower.stop()))
    try {
      await reactions.save(reached.reactions)
      await projected.save(reached.projected)
    } catch (error) {
      // The next start looks at a little more of the log again, and finds it done.
      logger.warn(traceOf(error), 'how far the log was followed could not be saved')
    }
    sender.close()
    await database.close()
  }
  if (E.isLeft(listening)) {
    await stop()
    return listening
  }
  address.url = listening.right
  logger.info({ address: address.url }, 'listening')
  return E.right({
    address: address.url,
    newOperatorKey: operator.isNew ? operator.secret : undefined,
    firstAccount: await openFirstAccount(store, manage),
    stop,
  })
}

const secretKeyFile = ({ dataDir }: Config): string => join(dataDir, 'secret-key')

/** The key is made after the file got its first page, so an empty file beside a key has lost what it held. */
const wasEmptied = (config: Config): boolean => {
  const file = join(config.dataDir, 'leadloop.db')
  return existsSync(file) && statSync(file).size === 0 && existsSync(secretKeyFile(config))
}

/** A new key would open nothing of what is stored. */
const lacksItsKey = async (store: EventStore, file: string): Promise<boolean> => {
  const head = await store.head()
  return E.isRight(head) && head.right !== beginning && !existsSync(file)
}

/** The oldest account's secret tells whether the key is the one that the store was begun with. */
const isRightKey = async (store: EventStore, vault: Vault): Promise<boolean> => {
  for await (const { events } of store.history(beginning, ['account'])) {
    for (const event of events) {
      if (event.type === 'AccountOpened') return E.isRight(vault.open(event.data.sealed_secret))
    }
  }
  return true
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
