import { randomInt } from 'node:crypto'
import type { Clock, CommandHandler, Ids, Logger, Time, Vault } from '../../domain/ports.js'
import { account } from '../../domain/account.js'
import type { Messenger } from '../../domain/messenger.js'
import { sendingHold } from '../../domain/sending-hold.js'
import { webhook } from '../../domain/webhook.js'
import type { WebhookResponse, WebhookClient } from '../../projections/delivery/webhook-client.js'
import { deliveryWorker } from '../../projections/delivery/worker.js'
import type { ConsentVerifier } from '../../projections/follow-up/consent-verifier.js'
import type { SenderOptOuts } from '../../projections/follow-up/sending/sender-opt-outs.js'
import { playbookVersions } from '../../projections/follow-up/playbook-versions.js'
import { followUpWorker } from '../../projections/follow-up/worker.js'
import { mailer, mailerName } from '../../projections/notices/mailer.js'
import type { MailTransport } from '../../projections/notices/mail-transport.js'
import { deliveries } from '../../projections/read-models/deliveries.js'
import { followUps } from '../../projections/read-models/follow-ups.js'
import { messages } from '../../projections/read-models/messages.js'
import { notices } from '../../projections/read-models/notices.js'
import { resends } from '../../projections/read-models/resends.js'
import { webhookList } from '../../projections/read-models/lists/webhook-list.js'
import { exponentialBackoff } from '../../projections/subscriptions/retries/backoff.js'
import type { Follower } from '../../projections/subscriptions/follower.js'
import type { Lease } from '../../projections/subscriptions/leases.js'
import { failingWork, type FailingWork } from '../../projections/subscriptions/retries/failing-work.js'
import { loadState, type CurrentStates } from '../commands/states/current-states.js'
import { hasErasures } from '../commands/states/has-erasures.js'
import type { ObservedFollower } from '../http/monitoring/lags.js'
import { followerOf, storeBackoff, type Followers } from './followers.js'
import type { Stores } from './stores.js'

export type WorkerPorts = {
  readonly stores: Stores
  readonly followers: Followers
  readonly commandHandler: CommandHandler
  readonly currentStates: CurrentStates
  readonly webhookClient: WebhookClient
  readonly mailTransport: MailTransport
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
}

/** Works under leases, and learns from the log what there is to do. */
export type FollowingWorker = {
  readonly follower: Follower
  readonly work: (lease: Lease) => Promise<void>
  /** The read models that say what there is to do. */
  readonly reads: ReadonlyArray<string>
  /** What it tries again. */
  readonly tried: Pick<FailingWork, 'reason'>
}

export type Workers = {
  readonly delivery: FollowingWorker & { readonly open: () => number }
  readonly followUp: FollowingWorker
  /** The lag of the mailer is that of its read model: whatever is due stands there. */
  readonly noticeMailer: { readonly work: (lease: Lease) => Promise<void>; readonly observed: ObservedFollower }
}

/** The workers of deliveries, of notices and of follow-ups, which run under leases. */
export const workersOn = (ports: WorkerPorts): Workers => {
  const { stores, followers, currentStates, time } = ports
  const { store, documents } = stores
  const backoff = exponentialBackoff(storeBackoff, time)
  const ofDelivery = failingWork(time)
  const ofFollowUp = failingWork(time)
  const delivery = deliveryWorker({
    ...ports,
    failingWork: ofDelivery,
    store,
    documents,
    backoff,
    currentWebhook: (id) => currentStates.get(webhook, id, ({ kind }) => kind === 'on'),
    hasErasures: hasErasures(currentStates),
    random: () => randomInt(1_000_000) / 1_000_000,
    deliveriesFollower: followerOf(followers.readModels, deliveries.name),
  })
  const noticeMailer = mailer({
    ...ports,
    failingWork: failingWork(time),
    store,
    documents,
    backoff,
    mailTransport: ports.mailTransport,
    noticesFollower: followerOf(followers.readModels, notices.name),
  })
  const followUp = followUpWorker({
    ...ports,
    failingWork: ofFollowUp,
    store,
    documents,
    backoff,
    playbookAt: playbookVersions(store),
    currentHold: (id) => currentStates.get(sendingHold, id, ({ held }) => held === undefined),
    // From the stream: once somebody was told that an account is disabled, no process sends a step of it.
    currentAccount: (id) => loadState(ports.commandHandler, account, id),
    followUpsFollower: followerOf(followers.readModels, followUps.name),
    messagesFollower: followerOf(followers.readModels, messages.name),
  })
  return {
    delivery: { ...delivery, reads: [deliveries.name, resends.name, webhookList.name], tried: ofDelivery },
    followUp: { ...followUp, reads: [followUps.name, messages.name], tried: ofFollowUp },
    noticeMailer: {
      work: noticeMailer.work,
      observed: {
        name: mailerName,
        progress: followerOf(followers.readModels, notices.name).progress,
        failure: () => undefined,
        retrying: noticeMailer.retrying,
      },
    },
  }
}
