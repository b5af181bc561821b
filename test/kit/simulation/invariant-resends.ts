import type { EventOf } from '../../../domain/events.js'
import type { History } from './simulation.js'
import { isDeliveryAt, isResendOver, recordsIn, upTo, type Event, type DeliveryRecord } from './delivery-record.js'

/** What somebody wants to be resent is resent. */
export const resendBreaches = (history: History): ReadonlyArray<string> => {
  const records = recordsIn(history)
  const started = history.events.filter((event) => event.type === 'ResendStarted')
  return [...records.flatMap(unanswered), ...started.flatMap((one) => unkept(one, history, records))]
}

/** Each request of a resend is followed by one attempt, or by the removal of the webhook, before the next request. */
const unanswered = ({ due, events }: DeliveryRecord): ReadonlyArray<string> => {
  const requests = events.filter((event) => event.type === 'DeliveryResendRequested')
  const isOne = requests.every((request, n) => {
    const after = events.filter(
      ({ position }) => position > request.position && position < (requests[n + 1]?.position ?? Infinity),
    )
    const answers = after.filter((event) => event.type === 'DeliveryResent')
    const isRight = answers.every(({ data }) => data.resend_id === request.data.resend_id)
    return isRight && answers.length <= 1 && after.some(isResendOver)
  })
  const isAsked = events.filter(({ type }) => type === 'DeliveryResent').length <= requests.length
  return isOne && isAsked ? [] : [`${due.data.delivery_id} was not resent as often as somebody asked`]
}

const unkept = (
  started: EventOf<'ResendStarted'>,
  { events }: History,
  records: ReadonlyArray<DeliveryRecord>,
): ReadonlyArray<string> => {
  const { resend_id, webhook_id, from, to } = started.data
  const stream = events.filter((event) => event.stream === started.stream)
  const end = stream.find(({ type }) => type === 'ResendCompleted' || type === 'ResendCancelled')
  if (end === undefined || stream.length !== 2) return [`${resend_id} did not end once`]
  const isMine = (event: Event): boolean =>
    (event.type === 'DeliveryResendRequested' || event.type === 'DeliveryResent') && event.data.resend_id === resend_id
  return records.flatMap((one) => {
    const { due } = one
    const mine = one.events.filter(isMine)
    const asked = mine.filter(({ type }) => type === 'DeliveryResendRequested')
    const isOf = due.data.webhook_id === webhook_id && due.time >= from && due.time <= to
    const isLeft = end.type === 'ResendCompleted' && isOf && asked.length === 0 && isFailed(one, started, end)
    return [
      ...(asked.length > 1 ? [`${resend_id} asked for ${due.data.delivery_id} ${asked.length} times`] : []),
      ...(asked.length > 0 && !isOf ? [`${resend_id} asked for ${due.data.delivery_id}, which is not of it`] : []),
      ...(isLeft ? [`${resend_id} left ${due.data.delivery_id} out`] : []),
      ...(end.type === 'ResendCompleted' && mine.some(({ position }) => position > end.position)
        ? [`${resend_id} was complete before ${due.data.delivery_id}`]
        : []),
    ]
  })
}

/**
 * Whether a delivery was failed from start to end of a bulk resend, and no other resend of it was requested meanwhile.
 */
const isFailed = ({ events }: DeliveryRecord, start: Event, end: Event): boolean => {
  const before = upTo(events, start.position)
  const asked = before.findLastIndex(({ type }) => type === 'DeliveryResendRequested')
  const isServed = asked !== -1 && !before.slice(asked).some(isResendOver)
  const meanwhile = events.filter(({ position }) => position > start.position && position < end.position)
  const isSame = meanwhile.every((_, n) => isDeliveryAt([...before, ...meanwhile.slice(0, n + 1)]) === 'failed')
  const isAsked = meanwhile.some(({ type }) => type === 'DeliveryResendRequested')
  return isDeliveryAt(before) === 'failed' && isSame && !isServed && !isAsked
}
