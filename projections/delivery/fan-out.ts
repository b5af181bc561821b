import { newAggregate } from '../../domain/aggregate.js'
import type { Activity } from '../../domain/activity.js'
import { idIn, streamOf } from '../../domain/decider.js'
import { delivery, type DeliveryFacts } from '../../domain/delivery.js'
import { deliveryIdOf, derivedEventId } from '../../domain/derived-id.js'
import { beginning, type Position } from '../../domain/event.js'
import type { AccountId, WebhookId } from '../../domain/ids.js'
import { lead } from '../../domain/lead.js'
import type { CommandHandler, EventStore, Logger, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { webhook, type KnownWebhook, type WebhookEvent, type WebhookState } from '../../domain/webhook.js'
import type { Contact } from '../contact.js'
import { decodableHistory } from '../parking/decodable-history.js'
import { executedOrThrow } from '../parking/final-failure.js'
import { parking } from '../parking/parking.js'
import type { Checkpoint } from '../subscriptions/checkpoint.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Follower } from '../subscriptions/follower.js'
import type { ProjectedEvent } from '../projection.js'
import { passingContacts, type RecordedActivity } from './passing-contacts.js'
import { payloadOf } from './payload.js'

type LeadSubmitted = Extract<ProjectedEvent, { readonly type: 'LeadSubmitted' }>

/** The contact of an activity, as it was then, and the webhooks that were subscribed to it. */
type FannedOut = { readonly to: ReadonlyArray<KnownWebhook>; readonly shown: Either<StoreFailure, Contact | undefined> }

/** Activities whose deliveries are made at the same time: each holds a body in memory. */
const madeAtOnce = 128

type FanOutPorts = {
  readonly store: EventStore
  readonly commandHandler: CommandHandler
  readonly checkpoint: Checkpoint
  readonly logger: Logger
}

/**
 * The half of the process manager of deliveries that makes them due: activities in, commands out. It fans each activity out, to
 * one delivery for each webhook that is subscribed at that point of the log, and posts nothing: that is the worker's half. A
 * repeat writes nothing, since the stream of a delivery is derived from its webhook and its activity.
 */
export const deliveryFanOut = (ports: FanOutPorts): Follower => {
  const { store, commandHandler, checkpoint } = ports
  const webhooks = followedWebhooks(store)
  const contacts = passingContacts(store)
  /** The activities of the batch that is handled now. */
  let fanned: ReadonlyMap<ProjectedEvent, FannedOut> = new Map()
  let followedTo = beginning
  let stopping = AbortSignal.abort()

  const makeDue = async (event: RecordedActivity, { to, shown }: FannedOut): Promise<void> => {
    const { activity } = event.data
    const passing = orThrow(shown)
    if (passing === undefined) return
    // A contact opts out by an activity, though its own stream says so only after it.
    const contact = activity.label === 'opted_out' ? { ...passing, opted_out: true } : passing
    const submitted = await submittedOf(store, activity)
    for (const subscriber of to) {
      const facts = factsOf(event, subscriber, contact, submitted)
      const heldAt = subscriber.kind === 'off' ? subscriber.version : undefined
      const command = { type: 'MakeDue', facts, heldAt } as const
      const eventId = (index: number): string => derivedEventId(event.id, facts.delivery_id, index)
      const cause = { actor: 'delivery', event, at: event.time, eventId }
      const done = await commandHandler.execute(delivery, facts.delivery_id, command, cause, newAggregate(delivery))
      executedOrThrow('a delivery', done)
    }
  }

  /** What is parked and tried again goes to the webhooks that are subscribed by then. */
  const work = async (event: ProjectedEvent, isRetry: boolean): Promise<void> => {
    if (isWebhookEvent(event)) {
      if (isRetry) await webhooks.load(followedTo, stopping)
      else webhooks.apply(event)
    }
    if (event.type !== 'ActivityRecorded') return
    const to = webhooks.subscribed(event.data.activity)
    const one = isRetry ? { to, shown: await contacts.asOf(event) } : fanned.get(event)
    if (one !== undefined) await makeDue(event, one)
  }
  const name = 'delivery_projector'
  const { handle, skip } = parking({ name, actor: 'delivery', work }, ports)

  return {
    name,
    categories: ['engagement', 'contact', 'webhook', 'parked'],
    begin: async (signal) => {
      stopping = signal
      followedTo = await checkpoint.load()
      contacts.forget()
      await webhooks.load(followedTo, stopping)
      return followedTo
    },
    handle: async ({ events, position }) => {
      followedTo = position
      const subscribed = new Map<RecordedActivity, ReadonlyArray<KnownWebhook>>()
      for (const event of events) {
        if (event.type !== 'ActivityRecorded') {
          await handle(event)
          continue
        }
        const to = webhooks.subscribed(event.data.activity)
        if (to.length > 0) subscribed.set(event, to)
      }
      const shown = await contacts.pass(events, new Set(subscribed.keys()))
      fanned = new Map([...subscribed].map(([event, to]) => [event, { to, shown: shown.get(event) ?? gone }]))
      const making = [...subscribed.keys()]
      for (let next = making.splice(0, madeAtOnce); next.length > 0; next = making.splice(0, madeAtOnce)) {
        await Promise.all(next.map(handle))
      }
      await checkpoint.advance(position)
    },
    skip: async (undecodable) => {
      contacts.skip(undecodable.stream)
      await skip(undecodable)
    },
    // What was done already must not be parked when it comes again after a stop.
    end: checkpoint.flush,
  }
}

const gone: Either<never, undefined> = E.right(undefined)

/** The webhooks as they were where the log was followed to. */
const followedWebhooks = (store: EventStore) => {
  const webhooks = new Map<AccountId, Map<WebhookId, WebhookState>>()
  const accounts = new Map<WebhookId, AccountId>()

  const apply = (event: ProjectedEvent & WebhookEvent): void => {
    const id = idIn(webhook, event.stream) as WebhookId
    if (event.type === 'WebhookAdded') accounts.set(id, event.data.account_id)
    const account = accounts.get(id)
    if (account === undefined) return
    const known = webhooks.get(account) ?? new Map<WebhookId, WebhookState>()
    webhooks.set(account, known.set(id, webhook.evolve(known.get(id) ?? webhook.initial, event)))
  }
  const subscribed = (activity: Activity): ReadonlyArray<KnownWebhook> =>
    [...(webhooks.get(activity.account_id)?.values() ?? [])].filter(
      (one): one is KnownWebhook => (one.kind === 'on' || one.kind === 'off') && isSubscribed(one, activity),
    )
  const load = async (upTo: Position, signal: AbortSignal): Promise<void> => {
    webhooks.clear()
    accounts.clear()
    for await (const { events } of decodableHistory(store, beginning, ['webhook'], signal)) {
      for (const event of events) if (event.position <= upTo && isWebhookEvent(event)) apply(event)
    }
  }
  return { apply, subscribed, load }
}

const isWebhookEvent = (event: ProjectedEvent): event is ProjectedEvent & WebhookEvent =>
  idIn(webhook, event.stream) !== undefined

/** Without any label a webhook is subscribed to all of them (contract 6.1). */
const isSubscribed = ({ settings }: KnownWebhook, activity: Activity): boolean =>
  (settings.events.length === 0 || settings.events.includes(activity.label)) &&
  (settings.playbook_id === null || settings.playbook_id === activity.playbook_id)

/** What a webhook is to be told of an activity, and with which body. */
const factsOf = (
  { id: activityId, time, data: { activity } }: RecordedActivity,
  { webhookId, settings }: KnownWebhook,
  shown: Contact,
  submitted: LeadSubmitted | undefined,
): DeliveryFacts => ({
  delivery_id: deliveryIdOf(webhookId, activityId),
  account_id: activity.account_id,
  webhook_id: webhookId,
  activity_id: activityId,
  label: activity.label,
  contact_id: activity.contact_id,
  lead_id: activity.lead_id,
  ...(submitted === undefined ? {} : { lead_submitted_at: submitted.time }),
  engagement_id: activity.engagement_id,
  due_at: time,
  body: payloadOf(settings.format, activity, shown, submitted?.data.originators ?? []),
})

/** How the lead was submitted; undefined where its stream was deleted since. */
const submittedOf = async (store: EventStore, activity: Activity): Promise<LeadSubmitted | undefined> => {
  const { events } = orThrow(await store.read(streamOf(lead, activity.lead_id)))
  return events.find((event) => event.type === 'LeadSubmitted')
}
