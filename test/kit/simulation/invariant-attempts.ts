import { hash } from 'node:crypto'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import { beginning } from '../../../domain/event.js'
import { millisecondsOf } from '../../../domain/instant.js'
import type { Arrival } from './receivers.js'
import type { History } from './simulation.js'
import {
  isBefore,
  isFailure,
  isResendOver,
  isWebhookAt,
  outcomesIn,
  scheduledIn,
  schedulesIn,
  slackIn,
  recordsIn,
  upTo,
  type Event,
  type DeliveryRecord,
} from './delivery-record.js'

/** What is posted, when, and how it is recorded. */
export const attemptBreaches = (history: History): ReadonlyArray<string> => {
  const records = recordsIn(history)
  const slack = slackIn(history)
  return [
    ...records.flatMap((one) => untimely(one, slack)),
    ...records.flatMap((one) => unwanted(one, slack)),
    ...records.flatMap(misnumbered),
    ...records.flatMap((one) => unrecorded(one, history)),
    ...records.flatMap(altered),
    ...records.flatMap((one) => misdated(one, slack)),
    ...unknown(history, records),
  ]
}

/** Whether a resend was requested and not posted yet when the request arrived, or shortly before. */
const isAsked = ({ events }: DeliveryRecord, { time, head }: Arrival, slack: number): boolean => {
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

/** An attempt of the schedule comes when it is due and never before, and none comes after the end of the schedule. */
const untimely = (record: DeliveryRecord, slack: number): ReadonlyArray<string> =>
  record.arrivals.flatMap((arrival) => {
    const { id, time, timestamp, head } = arrival
    const schedule = schedulesIn(upTo(record.events, head)).at(-1) ?? []
    const failed = schedule.findLast((event) => event.type === 'DeliveryAttemptFailed')
    const begun = schedule[0]
    const resumedAt = begun?.type === 'DeliveryResumed' ? begun.data.due_at : record.due.data.due_at
    const dueAt = millisecondsOf(failed?.data.next_attempt_at ?? resumedAt)
    const isOver = schedule.some((event) => endsSchedule(event) && isBefore(event, time - slack))
    const isResend = isAsked(record, arrival, slack)
    return [
      ...(time < dueAt && !isResend ? [`${id} was sent ${dueAt - time} ms early`] : []),
      ...(isOver && !isResend ? [`${id} was sent after it was over`] : []),
      ...(timestamp === Math.floor(time / 1000) ? [] : [`${id} has another timestamp`]),
    ]
  })

/** Only resends are posted to a webhook that is off, and nothing to one that was removed. */
const unwanted = (record: DeliveryRecord, slack: number): ReadonlyArray<string> =>
  record.arrivals.flatMap((arrival) => {
    const { id, time, head } = arrival
    const kinds = versionsAt(record.webhook, arrival, slack).map((version) =>
      isWebhookAt(record.webhook.slice(0, version)),
    )
    const isWanted = kinds.includes('on') || (kinds.includes('off') && isAsked(record, arrival, slack))
    return isWanted ? [] : [`${id} was sent at ${time}, head ${head}, to a webhook that was ${kinds.join()}`]
  })

/** The versions of the webhook by which an attempt may have been made. */
const versionsAt = (webhook: ReadonlyArray<Event>, { time, head }: Arrival, slack: number): ReadonlyArray<number> => {
  const newest = upTo(webhook, head).length
  const oldest = Math.max(upTo(webhook, head).filter((event) => isBefore(event, time - slack)).length, 1)
  return Array.from({ length: newest - oldest + 1 }, (_, n) => oldest + n)
}

const misnumbered = ({ due, events }: DeliveryRecord): ReadonlyArray<string> => {
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
 * Each life recorded all attempts of a delivery that it made, except for one that was in flight when it crashed, and
 * for those that were in flight when the delivery was skipped or abandoned.
 */
const unrecorded = ({ due, events, arrivals }: DeliveryRecord, { crashes, slowest }: History): ReadonlyArray<string> =>
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

const altered = ({ due, arrivals }: DeliveryRecord): ReadonlyArray<string> => {
  const digest = hash('sha256', due.data.body)
  const isSame = arrivals.every((one) => one.digest === digest && one.webhookId === due.data.webhook_id)
  return isSame ? [] : [`${due.data.delivery_id} was not the same each time`]
}

/** An outcome names the version of the webhook by which its attempt was made. */
const misdated = ({ events, webhook, arrivals }: DeliveryRecord, slack: number): ReadonlyArray<string> =>
  events.flatMap((event) =>
    outcomesIn(event).flatMap(({ webhook_version }) => {
      const arrival = arrivals.findLast(({ head }) => head < event.position)
      const versions = arrival === undefined ? [] : versionsAt(webhook, arrival, slack)
      return versions.includes(webhook_version ?? 0)
        ? []
        : [`${event.stream} went by version ${webhook_version ?? 'none'}, not ${versions.join(' or ')}`]
    }),
  )

const unknown = ({ arrivals }: History, records: ReadonlyArray<DeliveryRecord>): ReadonlyArray<string> => {
  const known = new Set<string>(records.map(({ due }) => due.data.delivery_id))
  return arrivals.filter(({ id }) => !known.has(id)).map(({ id }) => `${id} was sent and is not in the log`)
}
