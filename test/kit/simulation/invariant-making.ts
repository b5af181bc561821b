import { deliveryIdOf } from '../../../domain/derived-id.js'
import { beginning } from '../../../domain/event.js'
import type { EventOf } from '../../../domain/events.js'
import type { WebhookId } from '../../../domain/ids.js'
import type { WebhookSettings } from '../../../domain/webhook.js'
import type { History } from './simulation.js'
import { recordsIn, type Event, type DeliveryRecord } from './delivery-record.js'

/** Which deliveries become due, and what their bodies say. */
export const makingBreaches = (history: History): ReadonlyArray<string> => {
  const records = recordsIn(history)
  return [...lost(history), ...unasked(history, records), ...outdated(history, records)]
}

/** Each activity to which a webhook was subscribed at that point of the log became due. */
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

/** No activity became due for a webhook that was not subscribed to it at that point of the log. */
const unasked = ({ events }: History, records: ReadonlyArray<DeliveryRecord>): ReadonlyArray<string> =>
  records.flatMap(({ due }) => {
    const { activity_id, webhook_id, delivery_id } = due.data
    const activity = events.find(({ id }) => id === activity_id)
    const isAsked = activity?.type === 'ActivityRecorded' && subscribedAt(events, activity).includes(webhook_id)
    return isAsked ? [] : [`${delivery_id} was not asked for`]
  })

/** A body shows the contact as it was when the activity happened, however late the body was made. */
const outdated = ({ events }: History, records: ReadonlyArray<DeliveryRecord>): ReadonlyArray<string> =>
  records.flatMap(({ due }) => {
    const { activity_id, contact_id, delivery_id, body } = due.data
    const happened = events.find(({ id }) => id === activity_id)?.position ?? beginning
    const known = events
      .filter(({ stream, position }) => stream === `contact-${contact_id}` && position < happened)
      .findLast((event) => event.type === 'ContactCreated' || event.type === 'ContactDetailsChanged')
    const { contact } = JSON.parse(body) as { readonly contact?: { readonly first_name: string } }
    const isRight = contact === undefined || contact.first_name === known?.data.details.first_name
    return isRight ? [] : [`${delivery_id} names another ${contact.first_name}`]
  })

/** The webhooks that are subscribed to an activity. Without any label a webhook is subscribed to all (contract 6.1). */
const subscribedAt = (
  events: ReadonlyArray<Event>,
  activity: EventOf<'ActivityRecorded'>,
): ReadonlyArray<WebhookId> => {
  const labels = new Map<WebhookId, WebhookSettings['events']>()
  for (const event of events.filter(({ position }) => position < activity.position)) {
    const id = event.stream.slice('webhook-'.length) as WebhookId
    if (event.type === 'WebhookAdded' || event.type === 'WebhookChanged') labels.set(id, event.data.settings.events)
    if (event.type === 'WebhookRemoved') labels.delete(id)
  }
  const { label } = activity.data.activity
  return [...labels].filter(([, wanted]) => wanted.length === 0 || wanted.includes(label)).map(([id]) => id)
}
