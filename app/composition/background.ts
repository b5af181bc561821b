import { setMaxListeners } from 'node:events'
import { withinLimit } from '../../domain/abortable.js'
import type { Position } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { shards } from '../../projections/delivery/shards.js'
import { deliveryRetention } from '../../projections/erasure/retention/delivery-retention.js'
import { messageRetention } from '../../projections/erasure/retention/message-retention.js'
import type { RetentionPolicy } from '../../projections/erasure/retention/policy.js'
import { retention } from '../../projections/erasure/retention/retention.js'
import type { Json } from '../../projections/ports.js'
import { mailerName } from '../../projections/notices/mailer.js'
import { contactShards } from '../../projections/read-models/contact-shards.js'
import { resends } from '../../projections/read-models/resends.js'
import { exponentialBackoff } from '../../projections/subscriptions/retries/backoff.js'
import { follow, type Follower, type RunningFollower } from '../../projections/subscriptions/follower.js'
import { failingWork, type FailingWork } from '../../projections/subscriptions/retries/failing-work.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import type { Lease } from '../../projections/subscriptions/leases.js'
import { ofThisProcess, type ObservedFollower } from '../http/monitoring/lags.js'
import type { ProcessRole } from './config.js'
import { followerOf, storeBackoff, type Followers } from './followers.js'
import { built } from './start/read-model-wait.js'
import { workersOn, type FollowingWorker, type WorkerPorts, type Workers } from './workers.js'

/** The work of this process beside requests: followers, deliveries, mail. */
type BackgroundWork = {
  /** Webhook requests that are open now. */
  readonly openRequests: () => number
  /**
   * Takes this process's share of the work; resolves once the read models can answer for all up to `head`, or after
   * three seconds.
   */
  readonly begin: (head: Position) => Promise<void>
  /** Those that one process at a time runs, whichever does now, and those that run in this one. */
  readonly followers: () => ReadonlyArray<ObservedFollower>
  /** Followers that have not begun, or have not caught up yet with the log as it was when this process began. */
  readonly awaitedFollowers: () => ReadonlyArray<string>
  readonly stop: () => Promise<void>
}

type Ports = WorkerPorts & {
  readonly roles: ReadonlySet<ProcessRole>
  /** Followers that run in every process, whatever its roles. */
  readonly everyProcessFollowers: ReadonlyArray<{ readonly start: () => RunningFollower }>
  /** How long bodies of deliveries are kept after their end; undefined: for ever. */
  readonly deliveryRetentionDays: number | undefined
  /** How long texts of messages are kept after their end; undefined: for ever. */
  readonly messageRetentionDays: number | undefined
}

export const backgroundWork = (ports: Ports): BackgroundWork => {
  const { stores, roles, followers, logger, time } = ports
  const { store, membership } = stores
  const worked = workersOn(ports)
  const { delivery, followUp, noticeMailer } = worked
  const stopping = new AbortController()
  // Each follower that is waited for listens to it: more listeners than Node's limit are no leak here.
  setMaxListeners(0, stopping.signal)
  let running: ReadonlyArray<RunningFollower> = []
  const ownWorkers = roles.has('delivery') ? [delivery.follower, followUp.follower] : []
  const mailing = roles.has('delivery') ? [noticeMailer.observed] : []
  const retentions = roles.has('projector') ? retentionsOn(ports) : []
  let awaited: ReadonlyArray<string> = [...followers.all, ...ownWorkers].map(({ name }) => name)

  const existing = (readModels: Followers['readModels']): Promise<void> =>
    built(
      { documents: stores.documents, logger, time },
      readModels.map(({ projection }) => projection),
      stopping.signal,
    )
  /** `tried`: what its worker tries again, of which health tells with the follower. */
  const start = (follower: Follower, tried: Pick<FailingWork, 'reason'>): RunningFollower => {
    const running = follow(follower, { store, logger, backoff: exponentialBackoff(storeBackoff, time) })
    return { ...running, retrying: () => running.retrying() ?? tried.reason() }
  }

  /**
   * Not before its read models have caught up: what they show as due may have been tried. No other follower that stands
   * still holds it up.
   */
  const startWorker = async ({ follower, reads, tried }: FollowingWorker, head: Position): Promise<void> => {
    if (!roles.has('delivery')) return
    const own = followers.readModels.filter(({ projection }) => reads.includes(projection.name))
    await existing(own)
    await Promise.all(own.map(({ follower }) => follower.caughtUpHere(head, stopping.signal)))
    if (stopping.signal.aborted) return
    running = [...running, start(follower, tried)]
    awaited = awaited.filter((one) => one !== follower.name)
  }

  const startWorkers = (head: Position): Promise<unknown> =>
    Promise.all([startWorker(delivery, head), startWorker(followUp, head)])

  /** In two steps: whether a follower runs in this process is known once every read model is there. */
  const caughtUp = async (head: Position): Promise<void> => {
    await existing(followers.readModels)
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
    openRequests: delivery.open,
    followers: () => [
      ...followers.all,
      ...running.map(ofThisProcess),
      ...mailing,
      ...retentions.map(({ observed }) => observed),
    ],
    awaitedFollowers: () => awaited,
    begin: async (head) => {
      running = ports.everyProcessFollowers.map((one) => one.start())
      shareWork(ports, worked, retentions)
      await inTime(Promise.all([caughtUp(head), startWorkers(head)]), ports)
    },
    stop: async () => {
      stopping.abort()
      await membership.leave()
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

/** In one turn of the event loop, so that the first heartbeat names all work of this process. */
const shareWork = (
  ports: Ports,
  { delivery, noticeMailer, followUp }: Workers,
  retentions: ReadonlyArray<RunningRetention>,
): void => {
  const { stores, roles, followers } = ports
  const { membership } = stores
  if (roles.has('projector')) {
    const byName = new Map(followers.all.map((one) => [one.name, one]))
    membership.share(
      'projector',
      () => [...byName.keys()],
      async (lease) => byName.get(lease.name)?.run(lease),
    )
  }
  if (retentions.length > 0)
    membership.share(
      'retention',
      () => retentions.map(({ observed }) => observed.name),
      async (lease) => retentions.find(({ observed }) => observed.name === lease.name)?.run(lease),
    )
  if (roles.has('delivery')) {
    membership.share('delivery', () => shards, delivery.work)
    membership.share('mailer', () => [mailerName], noticeMailer.work)
    membership.share('follow-up', () => contactShards, followUp.work)
  }
}

/** What removes something after so many days, under the lease of its name. Its lag is that of its read model. */
type RunningRetention = { readonly run: (lease: Lease) => Promise<void>; readonly observed: ObservedFollower }

const retentionsOn = (ports: Ports): ReadonlyArray<RunningRetention> => {
  const { stores, followers, time, deliveryRetentionDays, messageRetentionDays } = ports
  const backoff = exponentialBackoff(storeBackoff, time)
  const running = { ...ports, store: stores.store, documents: stores.documents, backoff }

  const of = <Document extends Json>(policy: RetentionPolicy<Document>, days: number): RunningRetention => {
    // It tries again after up to an hour.
    const tried = failingWork(time, Infinity)
    const { progress } = followerOf(followers.readModels, policy.projection.name)
    return {
      run: retention({ ...running, failingWork: tried }, policy, days).run,
      observed: { name: policy.name, progress, failure: () => undefined, retrying: tried.reason },
    }
  }
  const shown = (): LeasedFollower => followerOf(followers.readModels, resends.name)
  return [
    ...(deliveryRetentionDays === undefined
      ? []
      : [of(deliveryRetention({ ...running, resends: shown() }), deliveryRetentionDays)]),
    ...(messageRetentionDays === undefined ? [] : [of(messageRetention(running), messageRetentionDays)]),
  ]
}

/** In milliseconds: a start takes requests after that, whatever it waits for, and says `degraded`. */
const longestStart = 3_000

const inTime = async (starting: Promise<unknown>, { time, logger }: Pick<Ports, 'time' | 'logger'>): Promise<void> => {
  const isStarted = await withinLimit(time, longestStart, () => starting.then(() => true))
  if (isStarted !== true) logger.warn({}, 'a start takes requests before it has caught up with the log')
}
