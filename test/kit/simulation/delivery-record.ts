import type { AttemptOutcome } from '../../../domain/attempt-outcome.js'
import type { EventOf, RecordedEvent } from '../../../domain/events.js'
import type { Position } from '../../../domain/event.js'
import type { WebhookId } from '../../../domain/ids.js'
import { millisecondsOf, type Instant } from '../../../domain/instant.js'
import { grouped } from './grouped.js'
import type { Arrival } from './receivers.js'
import type { History } from './simulation.js'

export type Event = RecordedEvent

/** All about one delivery: its stream, the stream of its webhook, and what arrived at the receiver, each in order. */
export type DeliveryRecord = {
  readonly due: EventOf<'DeliveryDue'>
  readonly events: ReadonlyArray<Event>
  readonly webhook: ReadonlyArray<Event>
  readonly arrivals: ReadonlyArray<Arrival>
}

export const recordsIn = ({ events, arrivals }: History): ReadonlyArray<DeliveryRecord> => {
  const streams = grouped(events, ({ stream }) => stream)
  const arrived = grouped(arrivals, ({ id }) => id)
  return events.flatMap((due) => {
    if (due.type !== 'DeliveryDue') return []
    const { delivery_id, webhook_id } = due.data
    return [
      {
        due,
        events: streams.get(due.stream) ?? [],
        webhook: streams.get(`webhook-${webhook_id}`) ?? [],
        arrivals: arrived.get(delivery_id) ?? [],
      },
    ]
  })
}

/** The streams of all webhooks. */
export const webhooksIn = ({ events }: History): ReadonlyMap<WebhookId, ReadonlyArray<Event>> =>
  grouped(
    events.filter(({ stream }) => stream.startsWith('webhook-')),
    ({ stream }) => stream.slice('webhook-'.length) as WebhookId,
  )

/** Milliseconds that pass at most between the time that an event names and its being written. */
export const slackIn = ({ slowest }: History): number => slowest

export const upTo = (events: ReadonlyArray<Event>, position: Position): ReadonlyArray<Event> =>
  events.filter((event) => event.position <= position)

export const isBefore = (event: { readonly time: Instant }, time: number): boolean => millisecondsOf(event.time) < time

export const isWebhookAt = (events: ReadonlyArray<Event>): 'unknown' | 'on' | 'off' | 'removed' =>
  events.reduce<'unknown' | 'on' | 'off' | 'removed'>((before, { type }) => {
    if (type === 'WebhookAdded' || type === 'WebhookTurnedOn') return 'on'
    if (type === 'WebhookTurnedOff') return 'off'
    return type === 'WebhookRemoved' ? 'removed' : before
  }, 'unknown')

/** The state of a delivery after its events. */
export const isDeliveryAt = (events: ReadonlyArray<Event>): string =>
  events.reduce((before, event) => {
    switch (event.type) {
      case 'DeliveryDue':
      case 'DeliveryResumed':
        return 'due'
      case 'DeliveryHeld':
        return 'held'
      case 'DeliverySkipped':
        return 'skipped'
      case 'DeliverySucceeded':
        return 'succeeded'
      case 'DeliveryAbandoned':
        if (event.data.why === 'retries-exhausted') return 'failed'
        return before === 'succeeded' ? before : 'abandoned'
      case 'DeliveryResent':
        return event.data.delivered ? 'succeeded' : before
      default:
        return before
    }
  }, 'unknown')

/** The attempts of the schedule that an event records: none, or one. */
export const scheduledIn = (event: Event): ReadonlyArray<AttemptOutcome> => {
  switch (event.type) {
    case 'DeliveryAttemptFailed':
    case 'DeliverySucceeded':
      return [event.data.outcome]
    case 'DeliveryAbandoned':
      return event.data.outcome === null ? [] : [event.data.outcome]
    default:
      return []
  }
}

/** The attempts that an event records, of the schedule or resends: none, or one. */
export const outcomesIn = (event: Event): ReadonlyArray<AttemptOutcome> =>
  event.type === 'DeliveryResent' ? [event.data.outcome] : scheduledIn(event)

/** The events of each schedule. One begins when the delivery becomes due, another whenever it is caught up with. */
export const schedulesIn = (events: ReadonlyArray<Event>): ReadonlyArray<ReadonlyArray<Event>> => {
  const begins = events.flatMap(({ type }, n) => (type === 'DeliveryDue' || type === 'DeliveryResumed' ? [n] : []))
  return begins.map((begin, n) => events.slice(begin, begins[n + 1]))
}

export const isFailure = ({ status }: AttemptOutcome): boolean => status === null || status < 200 || status >= 300

export const isResendOver = (event: Event): boolean =>
  event.type === 'DeliveryResent' || (event.type === 'DeliveryAbandoned' && event.data.why === 'webhook-removed')

/** The events of each life: those after the crash before it, up to its own. */
export const livesIn = ({ crashes, events }: History): ReadonlyArray<ReadonlyArray<Event>> =>
  [...crashes, undefined].map((end, n) => {
    const begin = crashes[n - 1] ?? 0n
    return events.filter(({ position }) => position > begin && (end === undefined || position <= end))
  })
