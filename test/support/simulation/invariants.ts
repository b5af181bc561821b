import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { AttemptOutcome } from '../../../domain/delivery.js'
import { fold, streamOf, type Decider } from '../../../domain/decider.js'
import { deliveryIdOf } from '../../../domain/derived-id.js'
import type { DomainEvent } from '../../../domain/domain-event.js'
import { beginning, type Position, type Recorded } from '../../../domain/event.js'
import type { WebhookId } from '../../../domain/ids.js'
import { millisecondsOf } from '../../../domain/instant.js'
import { E } from '../../../domain/prelude.js'
import { reactions } from '../../../domain/reactions.js'
import type { WebhookSettings } from '../../../domain/webhook.js'
import { project } from '../project.js'
import type { Arrival } from './receivers.js'
import type { History } from './simulation.js'
import { shownIn } from './virtual-process.js'

type Event = Recorded<DomainEvent>
type Of<T extends Event['type']> = Extract<Event, { readonly type: T }>

/** A decider and a command that belong together, whichever they are. */
type AnyIntent = {
  readonly decider: Decider<unknown, { readonly type: string }, DomainEvent, unknown>
  readonly id: string
  readonly command: { readonly type: string }
}

/** One delivery: what its stream says and what arrived of it, both in their order. */
type Told = {
  readonly due: Of<'DeliveryDue'>
  readonly events: ReadonlyArray<Event>
  readonly arrivals: ReadonlyArray<Arrival>
}

/** Whatever happened, and wherever it crashed, none of this is so: each sentence names one breach (design, section 5). */
export const breaches = (history: History): ReadonlyArray<string> => {
  const told = toldIn(history)
  return [
    ...told.flatMap(early),
    ...told.flatMap(misnumbered),
    ...told.flatMap((one) => repeated(one, history.crashes)),
    ...told.flatMap(altered),
    ...crowded(history),
    ...unknown(history, told),
    ...lost(history),
    ...unasked(history, told),
    ...outdated(history, told),
    ...unfinished(history),
    ...turnedOff(history, told),
    ...misshown(history),
  ]
}

/** How many attempts were recorded. */
export const attemptsIn = ({ events }: History): number => events.flatMap(outcomesOf).length

/** Attempts of one delivery, and how many of them may be open to one webhook. */
const most = { attempts: 19, open: 8 }

const early = ({ due, events, arrivals }: Told): ReadonlyArray<string> =>
  arrivals.flatMap(({ id, time, timestamp, head }) => {
    const before = events.filter(({ position }) => position <= head)
    const failed = before.findLast((event) => event.type === 'DeliveryAttemptFailed')
    const dueAt = millisecondsOf(failed?.data.next_attempt_at ?? due.data.due_at)
    return [
      ...(time < dueAt ? [`${id} was sent ${dueAt - time} ms early`] : []),
      ...(before.some(isEnd) ? [`${id} was sent after it was over`] : []),
      ...(timestamp === Math.floor(time / 1000) ? [] : [`${id} tells another time`]),
    ]
  })

const misnumbered = ({ due, events }: Told): ReadonlyArray<string> => {
  const attempts = events.flatMap(outcomesOf).map(({ attempt }) => attempt)
  const isInOrder = attempts.length <= most.attempts && attempts.every((attempt, index) => attempt === index + 1)
  return isInOrder ? [] : [`${due.data.delivery_id} was tried as ${attempts.join()}`]
}

/** What one life sent it also recorded, save for the one attempt that its end may have left open or unrecorded. */
const repeated = ({ due, events, arrivals }: Told, crashes: ReadonlyArray<Position>): ReadonlyArray<string> =>
  [...crashes, undefined].flatMap((end, index) => {
    const start = crashes[index - 1] ?? beginning
    const sent = arrivals.filter(({ life }) => life === index + 1).length
    const recorded = events
      .filter(({ position }) => position > start && (end === undefined || position <= end))
      .flatMap(outcomesOf).length
    const unrecorded = sent - recorded
    const isAllowed = unrecorded === 0 || (unrecorded === 1 && end !== undefined)
    return isAllowed ? [] : [`${due.data.delivery_id}: life ${index + 1} sent ${sent} and recorded ${recorded}`]
  })

const altered = ({ due, arrivals }: Told): ReadonlyArray<string> => {
  const digest = hash('sha256', due.data.body)
  const isSame = arrivals.every((one) => one.digest === digest && one.webhookId === due.data.webhook_id)
  return isSame ? [] : [`${due.data.delivery_id} was not the same each time`]
}

const crowded = ({ arrivals }: History): ReadonlyArray<string> =>
  arrivals.filter(({ open }) => open > most.open).map(({ webhookId, open }) => `${webhookId} had ${open} requests open`)

const unknown = ({ arrivals }: History, told: ReadonlyArray<Told>): ReadonlyArray<string> => {
  const known = new Set<string>(told.map(({ due }) => due.data.delivery_id))
  return arrivals.filter(({ id }) => !known.has(id)).map(({ id }) => `${id} was sent and is not in the log`)
}

/** Every activity that a webhook was subscribed to at that point of the log comes to its end. */
const lost = ({ events }: History): ReadonlyArray<string> =>
  events.flatMap((event) => {
    if (event.type !== 'ActivityRecorded') return []
    return subscribedAt(events, event).flatMap((webhookId) => {
      const id = deliveryIdOf(webhookId, event.id)
      const stream = events.filter((one) => one.stream === `delivery-${id}`)
      if (stream.some(isEnd)) return []
      const isHeld = stream.some(({ type }) => type === 'DeliveryHeld') && isOff(events, webhookId)
      return isHeld ? [] : [`${id} ended as ${stream.at(-1)?.type ?? 'nothing'}`]
    })
  })

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

/** What follows from each event in other streams is so already. */
const unfinished = ({ events }: History): ReadonlyArray<string> =>
  events.flatMap((event) =>
    reactions(event, event.time).flatMap((intent) => {
      const { decider, id, command } = intent as unknown as AnyIntent
      const stream = streamOf(decider, id)
      const state = fold(
        decider,
        decider.initial,
        events.filter((one) => one.stream === stream),
      )
      const decided = decider.decide(command, state)
      return E.isRight(decided) && decided.right.length === 0
        ? []
        : [`${command.type} did not follow from ${event.type} at ${event.position}`]
    }),
  )

const turnedOff = ({ events }: History, told: ReadonlyArray<Told>): ReadonlyArray<string> => {
  const offs = events.filter((event) => event.type === 'WebhookTurnedOff')
  return offs.flatMap((off) => {
    const failed = told.find(({ due }) => due.data.delivery_id === off.data.delivery_id)
    const failures = (failed?.events ?? []).filter(({ position }) => position < off.position).flatMap(outcomesOf)
    const isFirst = offs.find(({ stream }) => stream === off.stream) === off
    return [
      ...(isFirst ? [] : [`${off.stream} was turned off again`]),
      ...(failures.length === most.attempts && failures.every(isFailure)
        ? []
        : [`${off.stream} was turned off after ${failures.length} attempts of one delivery`]),
    ]
  })
}

/** The read models show what the whole log leaves. */
const misshown = ({ events, shown }: History): ReadonlyArray<string> =>
  shownIn
    .filter((projection) => !isDeepStrictEqual(shown.get(projection.name), project(projection, events)))
    .map(({ name }) => `${name} does not show what is in the log`)

const toldIn = ({ events, arrivals }: History): ReadonlyArray<Told> =>
  events.flatMap((due) => {
    if (due.type !== 'DeliveryDue') return []
    return [
      {
        due,
        events: events.filter(({ stream }) => stream === due.stream),
        arrivals: arrivals.filter(({ id }) => id === due.data.delivery_id),
      },
    ]
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

const isOff = (events: ReadonlyArray<Event>, webhookId: WebhookId): boolean =>
  events.some(({ stream, type }) => stream === `webhook-${webhookId}` && type === 'WebhookTurnedOff')

const isEnd = ({ type }: Event): boolean => type === 'DeliverySucceeded' || type === 'DeliveryAbandoned'

const isFailure = ({ status }: AttemptOutcome): boolean => status === null || status < 200 || status >= 300

const outcomesOf = (event: Event): ReadonlyArray<AttemptOutcome> => {
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
