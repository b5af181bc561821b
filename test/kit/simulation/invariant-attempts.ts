import { hash } from 'node:crypto'
import { beginning } from '../../../domain/event.js'
import { millisecondsOf } from '../../../domain/instant.js'
import type { Arrival } from './receivers.js'
import type { History } from './simulation.js'
import {
  isBefore,
  isFailure,
  isResendOver,
  isWebhookAt,
  mostAttempts,
  outcomesIn,
  scheduledIn,
  schedulesIn,
  slackIn,
  toldIn,
  upTo,
  type Event,
  type Told,
} from './told.js'

/** What is posted, and when, and what is recorded of it. */
export const attemptBreaches = (history: History): ReadonlyArray<string> => {
  const told = toldIn(history)
  const slack = slackIn(history)
  return [
    ...told.flatMap((one) => untimely(one, slack)),
    ...told.flatMap((one) => unwanted(one, slack)),
    ...told.flatMap(misnumbered),
    ...told.flatMap((one) => unrecorded(one, history)),
    ...told.flatMap(altered),
    ...told.flatMap((one) => misdated(one, slack)),
    ...unknown(history, told),
  ]
}

/** Whether somebody wanted it posted once more, and it was not yet, when it arrived or shortly before. */
const isAsked = ({ events }: Told, { time, head }: Arrival, slack: number): boolean => {
  const before = upTo(events, head)
  const asked = before.findLastIndex(({ type }) => type === 'DeliveryResendRequested')
  if (asked === -1) return false
  const over = before.slice(asked).find(isResendOver)
  return over === undefined || !isBefore(over, time - slack)
}

const endsSchedule = (event: Event): boolean =>
  event.type === 'DeliverySucceeded' ||
  event.type === 'DeliverySkipped' ||
  event.type === 'DeliveryAbandoned' ||
  (event.type === 'DeliveryResent' && event.data.delivered)

/** An attempt of the schedule comes when it is due and not before, and none after the end. */
const untimely = (told: Told, slack: number): ReadonlyArray<string> =>
  told.arrivals.flatMap((arrival) => {
    const { id, time, timestamp, head } = arrival
    const schedule = schedulesIn(upTo(told.events, head)).at(-1) ?? []
    const failed = schedule.findLast((event) => event.type === 'DeliveryAttemptFailed')
    const begun = schedule[0]
    const resumedAt = begun?.type === 'DeliveryResumed' ? begun.data.due_at : told.due.data.due_at
    const dueAt = millisecondsOf(failed?.data.next_attempt_at ?? resumedAt)
    const isOver = schedule.some((event) => endsSchedule(event) && isBefore(event, time - slack))
    const isResend = isAsked(told, arrival, slack)
    return [
      ...(time < dueAt && !isResend ? [`${id} was sent ${dueAt - time} ms early`] : []),
      ...(isOver && !isResend ? [`${id} was sent after it was over`] : []),
      ...(timestamp === Math.floor(time / 1000) ? [] : [`${id} tells another time`]),
    ]
  })

/** Nothing is posted to a webhook that is off but what somebody asked for, and nothing to one that was removed. */
const unwanted = (told: Told, slack: number): ReadonlyArray<string> =>
  told.arrivals.flatMap((arrival) => {
    const { id, time, head } = arrival
    const kinds = versionsAt(told.webhook, arrival, slack).map((version) => isWebhookAt(told.webhook.slice(0, version)))
    const isWanted = kinds.includes('on') || (kinds.includes('off') && isAsked(told, arrival, slack))
    return isWanted ? [] : [`${id} was sent at ${time}, head ${head}, to a webhook that was ${kinds.join()}`]
  })

/** The versions of the webhook that an attempt may have gone by. */
const versionsAt = (webhook: ReadonlyArray<Event>, { time, head }: Arrival, slack: number): ReadonlyArray<number> => {
  const newest = upTo(webhook, head).length
  const oldest = Math.max(upTo(webhook, head).filter((event) => isBefore(event, time - slack)).length, 1)
  return Array.from({ length: newest - oldest + 1 }, (_, n) => oldest + n)
}

const misnumbered = ({ due, events }: Told): ReadonlyArray<string> => {
  const attempts = events.flatMap(outcomesIn).map(({ attempt }) => attempt)
  const isInOrder = attempts.every((attempt, index) => attempt === index + 1)
  const isOften = schedulesIn(events).some((schedule) => schedule.flatMap(scheduledIn).length > mostAttempts)
  const isRight = events.every((event) => {
    const outcome = outcomesIn(event).at(0)
    if (outcome === undefined) return true
    const isDelivered = event.type === 'DeliveryResent' ? event.data.delivered : event.type === 'DeliverySucceeded'
    return isDelivered !== isFailure(outcome)
  })
  const { delivery_id } = due.data
  return [
    ...(isInOrder && !isOften ? [] : [`${delivery_id} was tried as ${attempts.join()}`]),
    ...(isRight ? [] : [`${delivery_id} has an end that its attempts have not`]),
  ]
}

/**
 * What one life sent it also recorded, save for the one attempt that its end may have left open or unrecorded, and for what was
 * under way when the delivery was given up.
 */
const unrecorded = ({ due, events, arrivals }: Told, { crashes, slowest }: History): ReadonlyArray<string> =>
  [...crashes, undefined].flatMap((end, index) => {
    const start = crashes[index - 1] ?? beginning
    const sent = arrivals.filter(({ life }) => life === index + 1)
    const mine = events.filter(({ position }) => position > start && (end === undefined || position <= end))
    const given = mine.filter((event) => {
      if (event.type !== 'DeliverySkipped' && event.type !== 'DeliveryAbandoned') return false
      return sent.some(({ head, time, takes }) => {
        return head < event.position && isBefore(event, time + takes + slowest + 1)
      })
    }).length
    const missing = sent.length - mine.flatMap(outcomesIn).length
    const isAllowed = missing >= 0 && missing <= given + (end === undefined ? 0 : 1)
    return isAllowed ? [] : [`${due.data.delivery_id}: life ${index + 1} left ${missing} unrecorded`]
  })

const altered = ({ due, arrivals }: Told): ReadonlyArray<string> => {
  const digest = hash('sha256', due.data.body)
  const isSame = arrivals.every((one) => one.digest === digest && one.webhookId === due.data.webhook_id)
  return isSame ? [] : [`${due.data.delivery_id} was not the same each time`]
}

/** An outcome names the version of the webhook that its attempt went by. */
const misdated = ({ events, webhook, arrivals }: Told, slack: number): ReadonlyArray<string> =>
  events.flatMap((event) =>
    outcomesIn(event).flatMap(({ webhook_version }) => {
      const arrival = arrivals.findLast(({ head }) => head < event.position)
      const versions = arrival === undefined ? [] : versionsAt(webhook, arrival, slack)
      return versions.includes(webhook_version ?? 0)
        ? []
        : [`${event.stream} went by version ${webhook_version ?? 'none'}, not ${versions.join(' or ')}`]
    }),
  )

const unknown = ({ arrivals }: History, told: ReadonlyArray<Told>): ReadonlyArray<string> => {
  const known = new Set<string>(told.map(({ due }) => due.data.delivery_id))
  return arrivals.filter(({ id }) => !known.has(id)).map(({ id }) => `${id} was sent and is not in the log`)
}
