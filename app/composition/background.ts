import { randomInt } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { withinLimit } from '../../domain/abortable.js'
import type { Clock, CommandHandler, Ids, Logger, Time, Vault } from '../../domain/ports.js'
import type { Position } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { account } from '../../domain/account.js'
import { sender } from '../../domain/sender.js'
import { webhook } from '../../domain/webhook.js'
import type { WebhookResponse, WebhookSender } from '../../projections/delivery/sender.js'
import { shards } from '../../projections/delivery/shards.js'
import { deliveryWorker } from '../../projections/delivery/worker.js'
import { keptDeliveries } from '../../projections/erasure/delivery-retention.js'
import { keptMessages } from '../../projections/erasure/message-retention.js'
import { retention } from '../../projections/erasure/retention.js'
import type { ConsentVerifier } from '../../projections/follow-up/consent-verifier.js'
import type { SenderOptOuts } from '../../projections/follow-up/sending/sender-opt-outs.js'
import type { Messenger } from '../../projections/follow-up/sending/messenger.js'
import { playbookVersions } from '../../projections/follow-up/playbook-versions.js'
import { followUpWorker } from '../../projections/follow-up/worker.js'
import { mailer, mailerName } from '../../projections/notices/mailer.js'
import type { MailSender } from '../../projections/notices/sender.js'
import { deliveries } from '../../projections/read-models/deliveries.js'
import { contactShards } from '../../projections/read-models/contact-shards.js'
import { followUps } from '../../projections/read-models/follow-ups.js'
import { messages } from '../../projections/read-models/messages.js'
import { notices } from '../../projections/read-models/notices.js'
import { resends } from '../../projections/read-models/resends.js'
import { webhookList } from '../../projections/read-models/lists/webhook-list.js'
import { exponentialBackoff } from '../../projections/subscriptions/backoff.js'
import { follow, type Follower, type RunningFollower } from '../../projections/subscriptions/follower.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { loadState, type CurrentStates } from '../commands/states/current-states.js'
import { hasErasures } from '../commands/states/has-erasures.js'
import { ofThisProcess, type ObservedFollower } from '../http/monitoring/lags.js'
import type { ProcessRole } from './config.js'
import { followerOf, storeBackoff, type Followers } from './followers.js'
import { built } from './start/built.js'
import type { Stores } from './stores.js'

/** The work of this process beside requests: followers, deliveries, mail. */
type BackgroundWork = {
  /** Webhook requests that are open now. */
  readonly openRequests: () => number
  /**
   * Takes this process's share of the work; resolves once the read models can answer for all up to `head`, or after three seconds.
   */
  readonly begin: (head: Position) => Promise<void>
  /** Those that one process at a time runs, whichever does now, and those that run in this one. */
  readonly followers: () => ReadonlyArray<ObservedFollower>
  /** Followers that have not begun, or have not caught up yet with the log as it was when this process began. */
  readonly lateFollowers: () => ReadonlyArray<string>
  readonly stop: () => Promise<void>
}

type Ports = {
  readonly stores: Stores
  readonly roles: ReadonlySet<ProcessRole>
  readonly followers: Followers
  /** Followers that run in every process, whatever its roles. */
  readonly everyProcessFollowers: ReadonlyArray<{ readonly start: () => RunningFollower }>
  readonly commandHandler: CommandHandler
  readonly currentStates: CurrentStates
  readonly sender: WebhookSender
  readonly mail: MailSender
  readonly messenger: Messenger
  readonly consentVerifier: ConsentVerifier
  readonly senderOptOuts: SenderOptOuts
  /** Where clients reach the service, known once it listens: nothing is mailed before. */
  readonly siteUrl: Promise<string>
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly time: Time
  readonly observe: (response: WebhookResponse) => void
  /** How long bodies of deliveries are kept after their end; undefined: for ever. */
  readonly deliveryRetentionDays: number | undefined
  /** How long texts of messages are kept after their end; undefined: for ever. */
  readonly messageRetentionDays: number | undefined
}

export const backgroundWork = (ports: Ports): BackgroundWork => {
  const { stores, roles, followers, logger, time } = ports
  const { store, membership } = stores
  const worked = workers(ports)
  const { delivery, followUp } = worked
  const stopping = new AbortController()
  // Each follower that is waited for listens to it: more listeners than Node's limit are no leak here.
  setMaxListeners(0, stopping.signal)
  let running: ReadonlyArray<RunningFollower> = []
  const ownWorkers = roles.has('delivery') ? [delivery.follower, followUp.follower] : []
  let late: ReadonlyArray<string> = [...followers.all, ...ownWorkers].map(({ name }) => name)

  const existing = (readModels: Followers['readModels']): Promise<void> =>
    built(
      { documents: stores.documents, logger, time },
      readModels.map(({ projection }) => projection),
      stopping.signal,
    )
  const start = (follower: Follower): RunningFollower =>
    follow(follower, { store, logger, backoff: exponentialBackoff(storeBackoff, time) })

  /**
   * Not before its read models have caught up: what they show as due may have been tried. No other follower that stands still
   * holds it up.
   */
  const startWorker = async (follower: Follower, reads: ReadonlyArray<string>, head: Position): Promise<void> => {
    if (!roles.has('delivery')) return
    const own = followers.readModels.filter(({ projection }) => reads.includes(projection.name))
    await existing(own)
    await Promise.all(own.map(({ follower }) => follower.caughtUpHere(head, stopping.signal)))
    if (stopping.signal.aborted) return
    running = [...running, start(follower)]
    late = late.filter((one) => one !== follower.name)
  }

  const startWorkers = (head: Position): Promise<unknown> =>
    Promise.all([
      startWorker(delivery.follower, readByDelivery, head),
      startWorker(followUp.follower, [followUps.name, messages.name], head),
    ])

  /** In two steps: whether a follower runs in this process is known once every read model is there. */
  const caughtUp = async (head: Position): Promise<void> => {
    await existing(followers.readModels)
    const catchUp = async ({ name, caughtUpHere }: LeasedFollower): Promise<void> => {
      await caughtUpHere(head, stopping.signal)
      late = late.filter((one) => one !== name)
    }
    await Promise.all(followers.all.map(catchUp))
    // Meanwhile the reactions have finished what a crash left open: the first request sees that too.
    const finished = E.getOrElse(() => head)(await store.head())
    await Promise.all(followers.readModels.map(({ follower }) => follower.caughtUpHere(finished, stopping.signal)))
  }

  return {
    openRequests: delivery.open,
    followers: () => [...followers.all, ...running.map(ofThisProcess)],
    lateFollowers: () => late,
    begin: async (head) => {
      running = ports.everyProcessFollowers.map((one) => one.start())
      shareWork(ports, worked)
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
const shareWork = (ports: Ports, { delivery, noticeMailer, followUp }: ReturnType<typeof workers>): void => {
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
  const retentions = retentionsOn(ports)
  if (roles.has('projector') && retentions.size > 0)
    membership.share(
      'retention',
      () => [...retentions.keys()],
      async (lease) => retentions.get(lease.name)?.run(lease),
    )
  if (roles.has('delivery')) {
    membership.share('delivery', () => shards, delivery.work)
    membership.share('mailer', () => [mailerName], noticeMailer.work)
    membership.share('follow-up', () => contactShards, followUp.work)
  }
}

/** The workers of deliveries, of notices and of follow-ups, which run under leases. */
const workers = (ports: Ports) => {
  const { stores, followers, currentStates, time } = ports
  const { store, documents } = stores
  const backoff = exponentialBackoff(storeBackoff, time)
  const delivery = deliveryWorker({
    ...ports,
    store,
    documents,
    backoff,
    currentWebhook: (id) => currentStates.get(webhook, id, ({ kind }) => kind === 'on'),
    hasErasures: hasErasures(currentStates),
    random: () => randomInt(1_000_000) / 1_000_000,
    projected: followerOf(followers.readModels, deliveries.name),
  })
  const noticeMailer = mailer({
    ...ports,
    store,
    documents,
    backoff,
    sender: ports.mail,
    projected: followerOf(followers.readModels, notices.name),
  })
  const followUp = followUpWorker({
    ...ports,
    store,
    documents,
    backoff,
    playbookAt: playbookVersions(store),
    currentSender: (id) => currentStates.get(sender, id, ({ held }) => held === undefined),
    // From the stream: once somebody was told that an account is disabled, no process sends a step of it.
    currentAccount: (id) => loadState(ports.commandHandler, account, id),
    projected: {
      followUps: followerOf(followers.readModels, followUps.name),
      messages: followerOf(followers.readModels, messages.name),
    },
  })
  return { delivery, noticeMailer, followUp }
}

/** What is removed after so many days, by the names of the leases. */
const retentionsOn = (ports: Ports): ReadonlyMap<string, ReturnType<typeof retention>> => {
  const { stores, followers, deliveryRetentionDays, messageRetentionDays } = ports
  const running = { ...ports, store: stores.store, documents: stores.documents }
  const found = new Map<string, ReturnType<typeof retention>>()
  if (deliveryRetentionDays !== undefined) {
    const kept = keptDeliveries({ ...running, resends: followerOf(followers.readModels, resends.name) })
    found.set(kept.name, retention(running, kept, deliveryRetentionDays))
  }
  if (messageRetentionDays !== undefined) {
    const kept = keptMessages(running)
    found.set(kept.name, retention(running, kept, messageRetentionDays))
  }
  return found
}

/** In milliseconds: a start takes requests after that, whatever it waits for, and says `degraded`. */
const longestStart = 3_000

const inTime = async (starting: Promise<unknown>, { time, logger }: Pick<Ports, 'time' | 'logger'>): Promise<void> => {
  const isStarted = await withinLimit(time, longestStart, () => starting.then(() => true))
  if (isStarted !== true) logger.warn({}, 'a start takes requests before it has caught up with the log')
}

/** The read models that say what there is to deliver. */
const readByDelivery: ReadonlyArray<string> = [deliveries, resends, webhookList].map(({ name }) => name)
