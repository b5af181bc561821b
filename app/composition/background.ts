import { setMaxListeners } from 'node:events'
import { withinLimit } from '../../domain/abortable.js'
import type { Position } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { exponentialBackoff } from '../../projections/subscriptions/retries/backoff.js'
import { follow, type RunningFollower } from '../../projections/subscriptions/follower.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { ofThisProcess, type ObservedFollower } from '../http/monitoring/lags.js'
import type { ProcessRole } from './config.js'
import { storeBackoff, type Followers } from './followers.js'
import { untilBuilt } from './start/read-model-wait.js'
import { workersOn, type Following, type Worker, type WorkerPorts } from './workers.js'

/** The work of this process beside requests: followers, deliveries, mail. */
type BackgroundWork = {
  /** Attempts of webhooks that are in flight now. */
  readonly attemptsInFlight: () => number
  /**
   * Takes this process's share of the work; resolves once the read models can answer for all up to `head`, or after
   * three seconds.
   */
  readonly begin: (head: Position) => Promise<void>
  /** Those that run under leases, in whichever process, and those of this process alone. */
  readonly followers: () => ReadonlyArray<ObservedFollower>
  /** The names under which process managers park events. */
  readonly processManagers: ReadonlyArray<string>
  /** Followers that have not begun, or have not caught up yet with the log as it was when this process began. */
  readonly awaitedFollowers: () => ReadonlyArray<string>
  readonly stop: () => Promise<void>
}

type Ports = WorkerPorts & {
  readonly roles: ReadonlySet<ProcessRole>
  /** Followers that run in every process, whatever its roles. */
  readonly everyProcessFollowers: ReadonlyArray<{ readonly start: () => RunningFollower }>
}

export const backgroundWork = (ports: Ports): BackgroundWork => {
  const { stores, roles, followers, logger, monotonic } = ports
  const { store, membership } = stores
  const workers = workersOn(ports)
  const ofRoles = workers.all.filter(({ role }) => roles.has(role))
  const following = ofRoles.flatMap((worker) => worker.following ?? [])
  const stopping = new AbortController()
  // Each follower that is waited for listens to it: more listeners than Node's limit are no leak here.
  setMaxListeners(0, stopping.signal)
  let running: ReadonlyArray<RunningFollower> = []
  const begunLast = following.map(({ follower }) => follower)
  let awaited: ReadonlyArray<string> = [...followers.all, ...begunLast].map(({ name }) => name)

  const untilServed = (readModels: Followers['readModels']): Promise<void> =>
    untilBuilt(
      { documents: stores.documents, logger, monotonic },
      readModels.map(({ projection }) => projection),
      stopping.signal,
    )

  /** Health tells with the follower of what its worker tries again. */
  const start = ({ follower, tried }: Following): RunningFollower => {
    const running = follow(follower, { store, logger, backoff: exponentialBackoff(storeBackoff, monotonic) })
    return { ...running, retrying: () => running.retrying() ?? tried.reason() }
  }

  /**
   * Not before its read models have caught up: what they show as due may have been tried. No other follower that stands
   * still holds it up.
   */
  const startFollowing = async (one: Following, head: Position): Promise<void> => {
    const { follower, reads } = one
    const own = followers.readModels.filter(({ projection }) => reads.includes(projection.name))
    await untilServed(own)
    await Promise.all(own.map(({ follower }) => follower.caughtUpHere(head, stopping.signal)))
    if (stopping.signal.aborted) return
    running = [...running, start(one)]
    awaited = awaited.filter((name) => name !== follower.name)
  }

  /** In two steps: whether a follower runs in this process is known once every read model is there. */
  const caughtUp = async (head: Position): Promise<void> => {
    await untilServed(followers.readModels)
    const catchUp = async ({ name, caughtUpHere }: LeasedFollower): Promise<void> => {
      await caughtUpHere(head, stopping.signal)
      awaited = awaited.filter((one) => one !== name)
    }
    await Promise.all(followers.all.map(catchUp))
    // Meanwhile the reactions have finished what a crash left open: the first request sees that too.
    const finished = E.getOrElse(() => head)(await store.head())
    await Promise.all(followers.readModels.map(({ follower }) => follower.caughtUpHere(finished, stopping.signal)))
  }

  return {
    attemptsInFlight: workers.attemptsInFlight,
    followers: () => [
      ...followers.all,
      ...running.map(ofThisProcess),
      ...ofRoles.flatMap(({ observed = [] }) => observed),
    ],
    processManagers: [...followers.processManagers, ...workers.all.flatMap(({ parksAs }) => parksAs ?? [])],
    awaitedFollowers: () => awaited,
    begin: async (head) => {
      running = ports.everyProcessFollowers.map((one) => one.start())
      shareWork(ports, ofRoles)
      await inTime(Promise.all([caughtUp(head), ...following.map((one) => startFollowing(one, head))]), ports)
    },
    stop: async () => {
      stopping.abort()
      await membership.leave()
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

/** In one turn of the event loop, so that the first heartbeat names all work of this process. */
const shareWork = ({ stores, roles, followers }: Ports, workers: ReadonlyArray<Worker>): void => {
  const { membership } = stores
  if (roles.has('projector')) {
    const byName = new Map(followers.all.map((one) => [one.name, one]))
    membership.share(
      'projector',
      () => [...byName.keys()],
      async (lease) => byName.get(lease.name)?.run(lease),
    )
  }
  for (const { name, leases, work } of workers) membership.share(name, () => leases, work)
}

/** In milliseconds: a start takes requests after that, whatever it waits for, and says `degraded`. */
const longestStart = 3_000

const inTime = async (
  starting: Promise<unknown>,
  { monotonic, logger }: Pick<Ports, 'monotonic' | 'logger'>,
): Promise<void> => {
  const isStarted = await withinLimit(monotonic, longestStart, () => starting.then(() => true))
  if (isStarted !== true) logger.warn({}, 'a start takes requests before it has caught up with the log')
}
