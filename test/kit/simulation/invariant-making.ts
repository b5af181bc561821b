import { deliveryIdOf } from '../../../domain/derived-id.js'
import { beginning } from '../../../domain/event.js'
import type { WebhookId } from '../../../domain/ids.js'
import type { WebhookSettings } from '../../../domain/webhook.js'
import type { History } from './simulation.js'
import { toldIn, type Event, type Of, type Told } from './told.js'

/** Which deliveries there are, and what they say. */
export const makingBreaches = (history: History): ReadonlyArray<string> => {
  const told = toldIn(history)
  return [...lost(history), ...unasked(history, told), ...outdated(history, told)]
}

/** Each activity that a webhook was subscribed to at that point of the log became due. */
const lost = ({ events }: History): ReadonlyArray<string> => {
  const streams = new Set(events.map(({ stream }) => stream))
  return events.flatMap((event) => {
    if (event.type !== 'ActivityRecorded') return []
    return subscribedAt(events, event).flatMap((webhookId) => {
      const id = deliveryIdOf(webhookId, event.id)
      return streams.has(`delivery-${id}`) ? [] : [`${id} was not made due`]
    })
  })
}

/** Nothing is made due for a webhook that was not subscribed to it at that point of the log. */
const unasked = ({ events }: History, told: ReadonlyArray<Told>): ReadonlyArray<string> =>
  told.flatMap(({ due }) => {
    const { activity_id, webhook_id, delivery_id } = due.data
    const activity = events.find(({ id }) => id === activity_id)
    const isAsked = activity?.type === 'ActivityRecorded' && subscribedAt(events, activity).includes(webhook_id)
    return isAsked ? [] : [`${delivery_id} was not asked for`]
  })

/** A body tells of the contact as it was when the activity happened, however late it was made. */
const outdated = ({ events }: History, told: ReadonlyArray<Told>): ReadonlyArray<string> =>
  told.flatMap(({ due }) => {
    const { activity_id, contact_id, delivery_id, body } = due.data
    const happened = events.find(({ id }) => id === activity_id)?.position ?? beginning
    const known = events
      .filter(({ stream, position }) => stream === `contact-${contact_id}` && position < happened)
      .findLast((event) => event.type === 'ContactCreated' || event.type === 'ContactDetailsChanged')
    const { contact } = JSON.parse(body) as { readonly contact?: { readonly first_name: string } }
    const isRight = contact === undefined || contact.first_name === known?.data.details.first_name
    return isRight ? [] : [`${delivery_id} tells of another ${contact.first_name}`]
  })

/** The webhooks that an activity concerns. Without any label a webhook is subscribed to all (contract 6.1). */
const subscribedAt = (events: ReadonlyArray<Event>, activity: Of<'ActivityRecorded'>): ReadonlyArray<WebhookId> => {
  const labels = new Map<WebhookId, WebhookSettings['events']>()
  for (const event of events.filter(({ position }) => position < activity.position)) {
    const id = event.stream.slice('webhook-'.length) as WebhookId
    if (event.type === 'WebhookAdded' || event.type === 'WebhookChanged') labels.set(id, event.data.settings.events)
    if (event.type === 'WebhookRemoved') labels.delete(id)
  }
  const { label } = activity.data.activity
  return [...labels].filter(([, wanted]) => wanted.length === 0 || wanted.includes(label)).map(([id]) => id)
}
