import type { EventOf } from '../../../domain/events.js'
import { millisecondsOf } from '../../../domain/instant.js'
import { grouped } from './grouped.js'
import type { History } from './simulation.js'
import {
  isBefore,
  isDeliveryAt,
  isWebhookAt,
  livesIn,
  slackIn,
  recordsIn,
  upTo,
  webhooksIn,
  type Event,
  type DeliveryRecord,
} from './delivery-record.js'

/** What becomes of deliveries whose webhook was turned off, on again, or removed. */
export const backlogBreaches = (history: History): ReadonlyArray<string> => {
  const records = recordsIn(history)
  return [
    ...records.flatMap(left),
    ...records.flatMap((one) => unchosen(one, slackIn(history))),
    ...disordered(history, records),
    ...hasty(history, records),
  ]
}

/** The states in which a delivery may end, by the state of its webhook, once there was time enough. */
const ends: Readonly<Record<ReturnType<typeof isWebhookAt>, ReadonlyArray<string>>> = {
  unknown: [],
  on: ['succeeded', 'skipped'],
  off: ['succeeded', 'skipped', 'held', 'failed'],
  removed: ['succeeded', 'skipped', 'abandoned'],
}

const left = ({ due, events, webhook }: DeliveryRecord): ReadonlyArray<string> => {
  const [state, end] = [isWebhookAt(webhook), isDeliveryAt(events)]
  return ends[state].includes(end) ? [] : [`${due.data.delivery_id} is ${end}, and its webhook ${state}`]
}

/** A delivery is caught up with or skipped as whoever turned the webhook on last chose, and recorded in their name. */
const unchosen = ({ events, webhook }: DeliveryRecord, slack: number): ReadonlyArray<string> =>
  events.flatMap((event) => {
    if (event.type !== 'DeliveryResumed' && event.type !== 'DeliverySkipped') return []
    const turnedOn = upTo(webhook, event.position).filter((one) => one.type === 'WebhookTurnedOn')
    const isKnown = turnedOn.findLastIndex((one) => isBefore(one, millisecondsOf(event.time) - slack))
    const isChosen = turnedOn.slice(Math.max(isKnown, 0)).some(({ data: { catch_up, by } }) => {
      return event.type === 'DeliveryResumed' ? catch_up : !catch_up && by === event.data.chosen_by
    })
    return isChosen ? [] : [`${event.type} of ${event.stream} at ${event.position} was not chosen`]
  })

/** What waited when a webhook was turned on is caught up with in order, within one life: the newest lead first. */
const disordered = (history: History, records: ReadonlyArray<DeliveryRecord>): ReadonlyArray<string> =>
  [...webhooksIn(history)].flatMap(([webhookId, webhook]) => {
    const mine = records.filter(({ due }) => due.data.webhook_id === webhookId)
    return webhook.flatMap((on) => {
      if (on.type !== 'WebhookTurnedOn') return []
      const waited = mine.filter(({ events }) => ['held', 'failed'].includes(isDeliveryAt(upTo(events, on.position))))
      const off = webhook.find(({ type, position }) => type === 'WebhookTurnedOff' && position > on.position)
      return livesIn(history).flatMap((life) => {
        const resumed = life
          .filter((event): event is EventOf<'DeliveryResumed'> => event.type === 'DeliveryResumed')
          .filter(({ position }) => position > on.position && (off === undefined || position < off.position))
          .flatMap((event) =>
            waited.filter(({ due }) => due.stream === event.stream).map(({ due }) => ({ event, due })),
          )
          .toSorted((one, other) => (one.event.data.due_at < other.event.data.due_at ? -1 : 1))
        return resumed.flatMap(({ event, due }, n) => {
          const next = resumed[n + 1]
          if (next === undefined) return []
          const isSame = event.data.due_at === next.event.data.due_at
          const isInOrder = isSame ? orderOf(due) === orderOf(next.due) : orderOf(due) <= orderOf(next.due)
          return isInOrder ? [] : [`${due.stream} was caught up with before ${next.due.stream}`]
        })
      })
    })
  })

/** Orders the newest lead first, and of one lead what happened first. */
const orderOf = ({ time, data: { lead_submitted_at } }: EventOf<'DeliveryDue'>): string =>
  `${1e15 - millisecondsOf(lead_submitted_at ?? time)}/${time}`

/** At most fifty a second are caught up with, and one batch more. */
const hasty = (history: History, records: ReadonlyArray<DeliveryRecord>): ReadonlyArray<string> => {
  const webhookOf = new Map(records.map(({ due }) => [due.stream, due.data.webhook_id]))
  return livesIn(history).flatMap((life, n) => {
    const resumed = life.filter(({ type }) => type === 'DeliveryResumed')
    return [...grouped(resumed, ({ stream }) => webhookOf.get(stream))].flatMap(([webhookId, all]) =>
      isHasty(all) ? [`life ${n + 1} caught up with ${String(webhookId)} in haste`] : [],
    )
  })
}

const isHasty = (events: ReadonlyArray<Event>): boolean => {
  const times = events.map(({ time }) => millisecondsOf(time)).toSorted((one, other) => one - other)
  return times.some((begin, first) => times.slice(first).some((end, n) => n + 1 > 32 + ((end - begin) * 50) / 1_000))
}
