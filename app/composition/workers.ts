import { randomInt } from 'node:crypto'
import { account } from '../../domain/account.js'
import type { Messenger } from '../../domain/messenger.js'
import type { Clock, CommandHandler, Ids, Logger, MonotonicClock, Vault } from '../../domain/ports.js'
import { sendingHold } from '../../domain/sending-hold.js'
import { webhook } from '../../domain/webhook.js'
import type { WebhookResponse, WebhookClient } from '../../projections/delivery/webhook-client.js'
import { deliveryWorkerName } from '../../projections/delivery/attempts/set-aside.js'
import { webhookShards } from '../../projections/delivery/webhook-shards.js'
import { deliveryWorker } from '../../projections/delivery/worker.js'
import { deliveryRetention } from '../../projections/erasure/retention/delivery-retention.js'
import { messageRetention } from '../../projections/erasure/retention/message-retention.js'
import type { RetentionPolicy } from '../../projections/erasure/retention/policy.js'
import { retention } from '../../projections/erasure/retention/retention.js'
import type { ConsentVerifier } from '../../projections/follow-up/consent-verifier.js'
import type { SenderOptOuts } from '../../projections/from-streams/sender-opt-outs.js'
import type { PlaybookVersions } from '../../projections/from-streams/playbook-versions.js'
import { followUpWorkerName } from '../../projections/follow-up/tasks.js'
import { followUpWorker } from '../../projections/follow-up/worker.js'
import { mailer, mailerName } from '../../projections/notices/mailer.js'
import type { MailTransport } from '../../projections/notices/mail-transport.js'
import type { Json } from '../../projections/ports.js'
import { contactShards } from '../../projections/read-models/contact-shards.js'
import { deliveries } from '../../projections/read-models/deliveries.js'
import { followUps } from '../../projections/read-models/follow-ups.js'
import { messages } from '../../projections/read-models/messages.js'
import { notices } from '../../projections/read-models/notices.js'
import { resends } from '../../projections/read-models/resends.js'
import { webhookList } from '../../projections/read-models/lists/webhook-list.js'
import { exponentialBackoff } from '../../projections/subscriptions/retries/backoff.js'
import type { Follower } from '../../projections/subscriptions/follower.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import type { Lease } from '../../projections/subscriptions/leases.js'
import { failingWork, type FailingWork } from '../../projections/subscriptions/retries/failing-work.js'
import { loadState, type CurrentStates } from '../commands/states/current-states.js'
import { hasErasures } from '../commands/states/has-erasures.js'
import type { ObservedFollower } from '../http/monitoring/lags.js'
import type { ProcessRole } from './config.js'
import { followerOf, storeBackoff, type Followers } from './followers.js'
import type { Stores } from './stores.js'

export type WorkerPorts = RetentionPorts & {
  readonly stores: Stores
  readonly followers: Followers
  readonly commandHandler: CommandHandler
  readonly currentStates: CurrentStates
  readonly webhookClient: WebhookClient
  readonly mailTransport: MailTransport
  readonly messenger: Messenger
  readonly consentVerifier: ConsentVerifier
  readonly senderOptOuts: SenderOptOuts
  readonly playbookAt: PlaybookVersions
  /** Where clients reach the service, known once it listens: nothing is mailed before. */
  readonly siteUrl: Promise<string>
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly monotonic: MonotonicClock
  readonly observe: (response: WebhookResponse) => void
}

type RetentionPorts = {
  /** How long bodies of deliveries are kept after their end; undefined: for ever. */
  readonly deliveryRetentionDays: number | undefined
  /** How long texts of messages are kept after their end; undefined: for ever. */
  readonly messageRetentionDays: number | undefined
}

/** Work that the processes of a role share out under leases. */
export type Worker = {
  readonly role: ProcessRole
  /** As `Membership.share` is told. */
  readonly name: string
  readonly leases: ReadonlyArray<string>
  readonly work: (lease: Lease) => Promise<void>
  /** The name under which it parks events, where it does. */
  readonly parksAs?: string
  /** How it learns from the log what there is to do, where it does. */
  readonly following?: Following
  /** Where it follows no log its lag is that of its read model: whatever is due stands there. */
  readonly observed?: ReadonlyArray<ObservedFollower>
}

export type Following = {
  readonly follower: Follower
  /** The read models that say what there is to do. */
  readonly reads: ReadonlyArray<string>
  /** What its worker tries again. */
  readonly tried: Pick<FailingWork, 'reason'>
}

type Workers = {
  readonly all: ReadonlyArray<Worker>
  /** Attempts of webhooks that are in flight now. */
  readonly attemptsInFlight: () => number
}

/** All that works under leases but the followers of `followers.ts`. A new worker is added to this list alone. */
export const workersOn = (ports: WorkerPorts): Workers => {
  const { delivery, attemptsInFlight } = deliveryWorkerOn(ports)
  return { all: [delivery, mailerOn(ports), followUpWorkerOn(ports), ...retentionWorkerOn(ports)], attemptsInFlight }
}

const storesAndBackoff = ({ stores: { store, documents }, monotonic }: WorkerPorts) => ({
  store,
  documents,
  backoff: exponentialBackoff(storeBackoff, monotonic),
})

const deliveryWorkerOn = (
  ports: WorkerPorts,
): { readonly delivery: Worker; readonly attemptsInFlight: () => number } => {
  const { followers, currentStates, monotonic } = ports
  const tried = failingWork(monotonic)
  const { follower, work, inFlight } = deliveryWorker({
    ...ports,
    ...storesAndBackoff(ports),
    failingWork: tried,
    currentWebhook: (id) => currentStates.get(webhook, id, ({ kind }) => kind === 'on'),
    hasErasures: hasErasures(currentStates),
    random: () => randomInt(1_000_000) / 1_000_000,
    deliveriesFollower: followerOf(followers.readModels, deliveries.name),
  })
  const following = { follower, reads: [deliveries.name, resends.name, webhookList.name], tried }
  return {
    delivery: {
      role: 'delivery',
      name: 'delivery',
      leases: webhookShards.names,
      work,
      parksAs: deliveryWorkerName,
      following,
    },
    attemptsInFlight: inFlight,
  }
}

const mailerOn = (ports: WorkerPorts): Worker => {
  const noticesFollower = followerOf(ports.followers.readModels, notices.name)
  const { work, retrying } = mailer({
    ...ports,
    ...storesAndBackoff(ports),
    failingWork: failingWork(ports.monotonic),
    noticesFollower,
  })
  const observed = {
    name: mailerName,
    furthestPosition: noticesFollower.furthestPosition,
    failure: () => undefined,
    retrying,
  }
  return { role: 'delivery', name: 'mailer', leases: [mailerName], work, parksAs: mailerName, observed: [observed] }
}

const followUpWorkerOn = (ports: WorkerPorts): Worker => {
  const { followers, currentStates, monotonic } = ports
  const tried = failingWork(monotonic)
  const { follower, work } = followUpWorker({
    ...ports,
    ...storesAndBackoff(ports),
    failingWork: tried,
    currentHold: (id) => currentStates.get(sendingHold, id, ({ held }) => held === undefined),
    // From the stream: once somebody was told that an account is disabled, no process sends a step of it.
    currentAccount: (id) => loadState(ports.commandHandler, account, id),
    followUpsFollower: followerOf(followers.readModels, followUps.name),
    messagesFollower: followerOf(followers.readModels, messages.name),
  })
  return {
    role: 'delivery',
    name: 'follow-up',
    leases: contactShards.names,
    work,
    parksAs: followUpWorkerName,
    following: { follower, reads: [followUps.name, messages.name], tried },
  }
}

/** Removes what was kept for so many days, each kind under a lease of its own name, and parks as the eraser does. */
const retentionWorkerOn = (ports: WorkerPorts): ReadonlyArray<Worker> => {
  const { followers, monotonic, deliveryRetentionDays, messageRetentionDays } = ports
  const given = { ...ports, ...storesAndBackoff(ports) }

  const of = <Document extends Json>(policy: RetentionPolicy<Document>, days: number) => {
    // It tries again after up to an hour.
    const tried = failingWork(monotonic, Infinity)
    const { furthestPosition } = followerOf(followers.readModels, policy.projection.name)
    return {
      run: retention({ ...given, failingWork: tried }, policy, days).run,
      observed: { name: policy.name, furthestPosition, failure: () => undefined, retrying: tried.reason },
    }
  }
  const shown = (): LeasedFollower => followerOf(followers.readModels, resends.name)
  const retentions = [
    ...(deliveryRetentionDays === undefined
      ? []
      : [of(deliveryRetention({ ...given, resends: shown() }), deliveryRetentionDays)]),
    ...(messageRetentionDays === undefined ? [] : [of(messageRetention(given), messageRetentionDays)]),
  ]
  if (retentions.length === 0) return []
  const observed = retentions.map((one) => one.observed)
  return [
    {
      role: 'projector',
      name: 'retention',
      leases: observed.map(({ name }) => name),
      work: async (lease) => retentions.find((one) => one.observed.name === lease.name)?.run(lease),
      observed,
    },
  ]
}
