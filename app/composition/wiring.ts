import { setMaxListeners } from 'node:events'
import { webhookUrlProblem } from '../../adapters/webhook/addresses/url-problem.js'
import type { Position } from '../../domain/event.js'
import type { Clock, Ids, Logger, MonotonicClock } from '../../domain/ports.js'
import { playbookVersions } from '../../projections/from-streams/playbook-versions.js'
import { senderOptOuts } from '../../projections/from-streams/sender-opt-outs.js'
import { parkedCounts as parkedCountsOn } from '../../projections/parking/parked-counts.js'
import { queries as queriesOn, type Queries } from '../../projections/queries.js'
import { clientCommands } from '../commands/client-commands.js'
import type { ReadYourWrites } from '../commands/read-your-writes/read-your-writes.js'
import { waitingCommands } from '../commands/read-your-writes/waiting-commands.js'
import { waitingQueries } from '../commands/read-your-writes/waiting-queries.js'
import type { HealthPorts } from '../http/monitoring/health.js'
import type { Metrics } from '../http/monitoring/metrics.js'
import { rateLimit } from '../http/rate-limit.js'
import { backgroundWork } from './background.js'
import { commandSide, logFollowing } from './command-side.js'
import type { Config } from './config.js'
import { followersOn } from './followers.js'
import { outgoing } from './outgoing/outgoing.js'
import type { Secrets } from './start/secrets.js'
import type { Stores } from './stores.js'
import { surfaces } from './surfaces.js'

export type WiringPorts = {
  readonly logger: Logger
  readonly clock: Clock
  readonly ids: Ids
  readonly monotonic: MonotonicClock
}

export type ObservedStores = Stores & Pick<HealthPorts, 'appendFailure'>

/** `head`: where the log ends. */
type Wired = WiringPorts & { readonly stores: ObservedStores; readonly secrets: Secrets; readonly head: Position }

/** Makes all parts and begins no work. */
export const wire = (config: Config, { stores, secrets, head, ...ports }: Wired, metrics: Metrics) => {
  const { clock, ids, monotonic } = ports
  const { vault, operatorKey } = secrets
  const site = siteAddress(config)
  const calls = outgoing(config, clock)
  const side = commandSide(stores, ports)
  const { store, commandHandler, workHandler, currentStates, reactor, unitOfWork } = side
  const stored = { ...stores, store }
  const { sharedSender } = calls.textProvider ?? {}
  const playbookAt = playbookVersions(store)
  const optOuts = senderOptOuts({ commandHandler, vault, sharedSender })
  const followers = followersOn({
    ...side,
    ...ports,
    stores: stored,
    commandHandler: workHandler,
    messenger: calls.messenger,
  })
  const { followed, hasPendingReactions, everyProcessFollowers } = logFollowing(
    side,
    stores,
    followers.reactions,
    ports,
  )
  const background = backgroundWork({
    ...ports,
    ...calls,
    ...config,
    stores: stored,
    followers,
    everyProcessFollowers,
    currentStates,
    playbookAt,
    senderOptOuts: optOuts,
    commandHandler: workHandler,
    siteUrl: site.known,
    vault,
    observe: metrics.attempt,
  })
  const stopping = new AbortController()
  const { readModels } = followers
  const waitPorts = { readModels, followed, head, monotonic, stopping: stopping.signal }
  const { untilAnswerable, documents } = readYourWrites(stored, waitPorts)
  const queries = queriesOn({ store, documents, hasPendingReactions })
  const queriesAtOnce = queriesOn({ store, documents: stores.documents, hasPendingReactions })
  const { parkedCounts } = observed(metrics, { ...ports, store, queries: queriesAtOnce, background })
  const draining = new AbortController()
  setMaxListeners(0, draining.signal)
  const manage = {
    ...ports,
    store,
    commandHandler,
    currentStates,
    clientCommands: clientCommands({ store, commandHandler, reactor, ids, unitOfWork, untilAnswerable }),
    queries,
    hasPendingReactions,
    verifiesConsents: config.consentVerifierUrl !== undefined,
    vault,
    webhookClient: calls.webhookClient,
    sharedSender,
    playbookAt,
    senderOptOuts: optOuts,
    rateLimit: rateLimit(clock),
    erasures: followers.erasures,
    rebuilds: followers.rebuilds,
    draining: draining.signal,
    siteUrl: site.now,
    webhookUrlProblem: (url: string) => webhookUrlProblem(url, config.allowPrivateWebhooks),
  }
  const { awaitedFollowers } = background
  const { appendFailure } = stores
  const health = { followers: background.followers, awaitedFollowers, appendFailure, readModels, parkedCounts }
  const own = { queriesAtOnce, operatorKey, metrics, roles: config.roles }
  const routes = surfaces({ ...manage, ...calls, ...health, ...own })
  const close = (): void => {
    stopping.abort()
    calls.close()
  }
  return { routes, background, manage, tellAddress: site.tell, drainRequests: () => draining.abort(), close }
}

type Observed = Pick<WiringPorts, 'clock' | 'monotonic'> & {
  readonly store: Stores['store']
  readonly queries: Queries
  readonly background: ReturnType<typeof backgroundWork>
}

/** What the metrics show of the process; the counts of parked events are for its health, too. */
const observed = (metrics: Metrics, { store, queries, background, clock, monotonic }: Observed) => {
  const parkedCounts = parkedCountsOn(queries, background.processManagers, monotonic)
  metrics.observeParked(parkedCounts)
  metrics.observeFollowers(store, background.followers, monotonic)
  metrics.observeAttemptsInFlight(background.attemptsInFlight)
  metrics.observeDeliveries(queries, clock)
  return { parkedCounts }
}

type WaitPorts = Omit<Parameters<typeof waitingCommands>[0] & Parameters<typeof waitingQueries>[0], 'documents'>

const readYourWrites = ({ isShared, documents }: Stores, ports: WaitPorts): ReadYourWrites =>
  (isShared ? waitingCommands : waitingQueries)({ documents, ...ports })

/** Where clients reach the service: what the settings say, else where it listens, once it does. */
const siteAddress = ({ publicUrl }: Config) => {
  let url = publicUrl ?? ''
  let resolve: (url: string) => void = () => undefined
  const known = new Promise<string>((resolveKnown) => (resolve = resolveKnown))
  const tell = (address: string): string => {
    url = publicUrl ?? address
    resolve(url)
    return url
  }
  return { now: () => url, known, tell }
}
