import { newAggregate } from '../../domain/aggregate.js'
import type { Activity } from '../../domain/activity.js'
import { contact } from '../../domain/contact.js'
import { idIn, streamOf } from '../../domain/decider.js'
import { delivery, type DeliveryFacts } from '../../domain/delivery.js'
import { deliveryIdOf, derivedEventId } from '../../domain/derived-id.js'
import { beginning } from '../../domain/event.js'
import type { AccountId, WebhookId } from '../../domain/ids.js'
import { lead } from '../../domain/lead.js'
import type { Clock, CommandHandler, EventStore } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { webhook, type KnownWebhook, type WebhookEvent, type WebhookState } from '../../domain/webhook.js'
import { contactFrom, type Contact } from '../contact.js'
import type { Checkpoint } from '../subscriptions/checkpoint.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Follower } from '../subscriptions/follower.js'
import type { ProjectedEvent } from '../projection.js'
import { payloadOf } from './payload.js'

type RecordedOf<T extends ProjectedEvent['type']> = Extract<ProjectedEvent, { readonly type: T }>

type FanOutPorts = {
  readonly store: EventStore
  readonly commandHandler: CommandHandler
  readonly checkpoint: Checkpoint
  readonly clock: Clock
}

/**
 * The half of the process manager of deliveries that makes them due: activities in, commands out. It fans each activity out, to
 * one delivery for each webhook that is subscribed at that point of the log, and posts nothing: that is the worker's half. A
 * repeat writes nothing, since the stream of a delivery is derived from its webhook and its activity.
 */
export const deliveryFanOut = ({ store, commandHandler, checkpoint, clock }: FanOutPorts): Follower => {
  /** The webhooks as they were where the log was followed to. */
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

  const makeDue = async (event: RecordedOf<'ActivityRecorded'>, to: ReadonlyArray<KnownWebhook>): Promise<void> => {
    const { activity } = event.data
    const shown = await contactAsOf(store, event)
    if (shown === undefined) return
    const submitted = await submittedOf(store, activity)
    const originators = submitted?.data.originators ?? []
    const submittedAt = submitted === undefined ? {} : { lead_submitted_at: submitted.time }
    for (const { webhookId, settings, kind, version } of to) {
      const facts: DeliveryFacts = {
        delivery_id: deliveryIdOf(webhookId, event.id),
        account_id: activity.account_id,
        webhook_id: webhookId,
        activity_id: event.id,
        label: activity.label,
        contact_id: activity.contact_id,
        lead_id: activity.lead_id,
        ...submittedAt,
        engagement_id: activity.engagement_id,
        due_at: clock.now(),
        body: payloadOf(settings.format, activity, shown, originators),
      }
      const command = { type: 'MakeDue', facts, heldAt: kind === 'off' ? version : undefined } as const
      const eventId = (index: number): string => derivedEventId(event.id, facts.delivery_id, index)
      const cause = { actor: 'delivery', event, eventId }
      const done = await commandHandler.execute(delivery, facts.delivery_id, command, cause, newAggregate(delivery))
      if (E.isLeft(done)) throw new Error(`a delivery was ${done.left.kind}`)
    }
  }

  return {
    name: 'delivery_projector',
    categories: ['engagement', 'webhook'],
    begin: async (stopping) => {
      const position = await checkpoint.load()
      webhooks.clear()
      accounts.clear()
      for await (const { events } of store.history(beginning, ['webhook'], stopping)) {
        for (const event of events) if (event.position <= position && isWebhookEvent(event)) apply(event)
      }
      return position
    },
    handle: async ({ events, position }) => {
      const making: Array<Promise<void>> = []
      for (const event of events) {
        if (isWebhookEvent(event)) apply(event)
        if (event.type !== 'ActivityRecorded') continue
        const to = subscribed(event.data.activity)
        if (to.length > 0) making.push(makeDue(event, to))
      }
      await Promise.all(making)
      await checkpoint.advance(position)
    },
  }
}

const isWebhookEvent = (event: ProjectedEvent): event is ProjectedEvent & WebhookEvent =>
  idIn(webhook, event.stream) !== undefined

/** Without any label a webhook is subscribed to all of them (contract 6.1). */
const isSubscribed = ({ settings }: KnownWebhook, activity: Activity): boolean =>
  (settings.events.length === 0 || settings.events.includes(activity.label)) &&
  (settings.playbook_id === null || settings.playbook_id === activity.playbook_id)

/** The contact as it was when the activity happened; undefined where its stream was deleted since. */
const contactAsOf = async (store: EventStore, event: RecordedOf<'ActivityRecorded'>): Promise<Contact | undefined> => {
  const { events } = orThrow(await store.read(streamOf(contact, event.data.activity.contact_id)))
  const document = contactFrom(events.filter(({ position }) => position < event.position))
  if (document === undefined) return undefined
  // The contact opted out by this very activity, though its own stream says so only after it.
  const optsOut = event.data.activity.label === 'opted_out'
  return optsOut ? { ...document.contact, opted_out: true } : document.contact
}

/** How the lead was submitted; undefined where its stream was deleted since. */
const submittedOf = async (store: EventStore, activity: Activity): Promise<RecordedOf<'LeadSubmitted'> | undefined> => {
  const { events } = orThrow(await store.read(streamOf(lead, activity.lead_id)))
  return events.find((event) => event.type === 'LeadSubmitted')
}
