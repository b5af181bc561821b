import type { Activity } from '../../../domain/activity.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { contact } from '../../../domain/contact.js'
import { delivery, type DeliveryFacts } from '../../../domain/delivery.js'
import { deliveryIdOf, derivedEventId } from '../../../domain/derived-id.js'
import { beginning } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { AccountId } from '../../../domain/ids.js'
import type { CommandHandler, EventStore, Logger, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isTransient, orThrow } from '../../../domain/store-failed.js'
import type { Contact } from '../../from-streams/contact.js'
import { errorOf, type CommandFailure } from '../../parking/final-failure.js'
import { parking } from '../../parking/parking.js'
import type { Checkpoint } from '../../subscriptions/checkpoint.js'
import type { Follower } from '../../subscriptions/follower.js'
import type { Documents } from '../../ports.js'
import type { WebhookDocument } from '../../read-models/lists/webhook-list.js'
import { followedWebhooks } from './followed-webhooks.js'
import { followedContacts, type RecordedActivity } from './followed-contacts.js'
import { remarksAt } from '../../from-streams/remarks.js'
import { followedLeads, type FollowedLeads, type Submitted } from './followed-leads.js'
import { payloadOf } from './payload.js'

/** The contact of an activity, as it was then, and the webhooks that were subscribed to it. */
type FannedOut = {
  readonly to: ReadonlyArray<WebhookDocument>
  readonly shown: Either<StoreFailure, Contact | undefined>
  /** Its deliveries that are made at the same time. */
  readonly concurrency: number
}

/** Its checkpoint, lease and parked events are stored under this name, so it stays as it is. */
export const deliveryFanOutName = 'delivery_projector'

/**
 * Deliveries that are made at the same time: each holds a body in memory. The activities that are handled at the same
 * time have equal shares, so that none waits for one that goes to many webhooks.
 */
const madeAtOnce = 128

type FanOutPorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly commandHandler: CommandHandler
  /** Whether a contact of the account was ever erased. May reject where a store fails. */
  readonly hasErasures: (id: AccountId) => Promise<boolean>
  readonly checkpoint: Checkpoint
  readonly logger: Logger
}

/**
 * The half of the process manager of deliveries that makes them due: activities in, commands out. It fans each activity
 * out, to one delivery for each webhook that is subscribed at that point of the log, and posts nothing: that is the
 * worker's half. A repeat writes nothing, since the stream of a delivery is derived from its webhook and its activity.
 */
export const deliveryFanOut = (ports: FanOutPorts): Follower => {
  const { store, checkpoint } = ports
  const webhooks = followedWebhooks(ports)
  const contacts = followedContacts(ports)
  const leads = followedLeads(store)
  const makeDue = makeDueWith(ports, leads)
  /** The activities of the batch that is handled now. */
  let fanned: ReadonlyMap<RecordedEvent, FannedOut> = new Map()
  /** The event that is handled now: others of its batch may come after it. */
  let followedTo = beginning

  const fannedOutNow = async (event: RecordedActivity): Promise<FannedOut> => ({
    to: webhooks.subscribed(event.data.activity),
    shown: await contacts.asOf(event),
    concurrency: madeAtOnce,
  })
  /** What is parked and tried again goes to the webhooks that are subscribed by then. */
  const work = async (event: RecordedEvent, isRetry: boolean): Promise<void> => {
    if (isRetry) await webhooks.reread(event, followedTo)
    else webhooks.apply(event)
    if (event.type !== 'ActivityRecorded') return
    const one = isRetry ? await fannedOutNow(event) : fanned.get(event)
    if (one !== undefined) await makeDue(event, one)
  }
  const name = deliveryFanOutName
  const { handle, skip } = parking({ name, actor: 'delivery', work }, ports)

  return {
    name,
    categories: ['lead', 'engagement', 'contact', 'webhook', 'parked'],
    begin: async (signal) => {
      const position = await checkpoint.load()
      contacts.forget()
      await webhooks.load(position, signal)
      return position
    },
    handle: async (batch) => {
      const { events } = batch
      const subscribed = new Map<RecordedActivity, ReadonlyArray<WebhookDocument>>()
      for (const event of events) {
        followedTo = event.position
        leads.learn(event)
        if (event.type !== 'ActivityRecorded') {
          await handle(event)
          continue
        }
        const to = webhooks.subscribed(event.data.activity)
        if (to.length > 0) subscribed.set(event, to)
      }
      const shown = await contacts.fold(events, new Set(subscribed.keys()))
      const concurrency = Math.max(Math.floor(madeAtOnce / subscribed.size), 1)
      fanned = new Map(
        [...subscribed].map(([event, to]) => [event, { to, shown: shown.get(event) ?? gone, concurrency }]),
      )
      const making = [...subscribed.keys()]
      for (let next = making.splice(0, madeAtOnce); next.length > 0; next = making.splice(0, madeAtOnce)) {
        await Promise.all(next.map(handle))
      }
      await checkpoint.advance(batch)
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

/** Makes the deliveries of an activity due. */
const makeDueWith =
  (ports: Pick<FanOutPorts, 'commandHandler' | 'hasErasures' | 'store'>, leads: Pick<FollowedLeads, 'submitted'>) =>
  async (event: RecordedActivity, { to, shown, concurrency }: FannedOut): Promise<void> => {
    const { commandHandler, store } = ports
    const found = orThrow(shown)
    if (found === undefined || (await isErased(ports, event))) return
    const { remark } = event.data
    const activity = remark === undefined ? event.data.activity : await withRemark(store, event.data.activity, remark)
    // A contact opts out by an activity, though its own stream says so only after it.
    const contactNow = activity.label === 'opted_out' ? { ...found, opted_out: true } : found
    const submitted = await leads.submitted(activity.lead_id)
    const make = ({ facts, heldAt }: DeliveryToMake) => {
      const command = { type: 'MakeDue', facts, heldAt } as const
      const eventId = (index: number): string => derivedEventId(event.id, facts.delivery_id, index)
      // By the times of the activities lists show them in order, also those that one append recorded.
      const envelope = { actor: 'delivery', cause: event, at: activity.at, eventId }
      return commandHandler.execute(delivery, facts.delivery_id, command, envelope, newAggregate(delivery))
    }
    for (let first = 0; first < to.length; first += concurrency) {
      const made = to.slice(first, first + concurrency).map((subscriber) => ({
        facts: factsOf(event, activity, subscriber, contactNow, submitted),
        heldAt: subscriber.state === 'off' ? subscriber.version : undefined,
      }))
      allMadeOrThrow(await Promise.all(made.map(make)))
    }
  }

type DeliveryToMake = { readonly facts: DeliveryFacts; readonly heldAt: number | undefined }

/**
 * One that may succeed later counts before one that never will: the activity comes again, and is parked only after
 * that.
 */
const allMadeOrThrow = (results: ReadonlyArray<Either<CommandFailure, unknown>>): void => {
  const failures = results.flatMap((one) => (E.isLeft(one) ? [one.left] : []))
  const failure = failures.find(isTransient) ?? failures[0]
  if (failure !== undefined) throw errorOf('a delivery', failure)
}

/**
 * Whether the contact was erased by now, though the log is not followed so far yet: nothing of it becomes due any more.
 */
const isErased = async (
  { commandHandler, hasErasures }: Pick<FanOutPorts, 'commandHandler' | 'hasErasures'>,
  { data: { activity } }: RecordedActivity,
): Promise<boolean> => {
  if (!(await hasErasures(activity.account_id))) return false
  return orThrow(await commandHandler.load(contact, activity.contact_id)).state.kind === 'erased'
}

/**
 * The activity with what was said of it, unless that was erased.
 * @throws StoreFailed where it can't be read
 */
const withRemark = async (store: FanOutPorts['store'], activity: Activity, revision: number): Promise<Activity> => ({
  ...activity,
  ...orThrow(await remarksAt(store, activity.engagement_id, [revision])).get(revision),
})

/** What a webhook is to be told of an activity, and with which body. */
const factsOf = (
  { id: activityId, time }: RecordedActivity,
  activity: Activity,
  { id: webhookId, format }: WebhookDocument,
  shown: Contact,
  submitted: Submitted | undefined,
): DeliveryFacts => ({
  delivery_id: deliveryIdOf(webhookId, activityId),
  account_id: activity.account_id,
  webhook_id: webhookId,
  activity_id: activityId,
  label: activity.label,
  contact_id: activity.contact_id,
  lead_id: activity.lead_id,
  ...(submitted === undefined ? {} : { lead_submitted_at: submitted.at }),
  engagement_id: activity.engagement_id,
  due_at: time,
  body: payloadOf(format, activity, shown, submitted?.originators ?? []),
})
