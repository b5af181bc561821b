import type { History } from './simulation.js'
import { isDeliveryAt, isResendOver, toldIn, upTo, type Event, type Of, type Told } from './told.js'

/** What somebody wants posted once more is posted once more. */
export const resendBreaches = (history: History): ReadonlyArray<string> => {
  const told = toldIn(history)
  const started = history.events.filter((event) => event.type === 'ResendStarted')
  return [...told.flatMap(unanswered), ...started.flatMap((one) => unkept(one, history, told))]
}

/** Each wish is followed by one attempt, or by the end of its webhook, before there is another one. */
const unanswered = ({ due, events }: Told): ReadonlyArray<string> => {
  const wishes = events.filter((event) => event.type === 'DeliveryResendRequested')
  const isOne = wishes.every((wish, n) => {
    const after = events.filter(
      ({ position }) => position > wish.position && position < (wishes[n + 1]?.position ?? Infinity),
    )
    const answers = after.filter((event) => event.type === 'DeliveryResent')
    const isRight = answers.every(({ data }) => data.resend_id === wish.data.resend_id)
    return isRight && answers.length <= 1 && after.some(isResendOver)
  })
  const isAsked = events.filter(({ type }) => type === 'DeliveryResent').length <= wishes.length
  return isOne && isAsked ? [] : [`${due.data.delivery_id} was not resent as often as somebody asked`]
}

const unkept = (
  started: Of<'ResendStarted'>,
  { events }: History,
  told: ReadonlyArray<Told>,
): ReadonlyArray<string> => {
  const { resend_id, webhook_id, from, to } = started.data
  const stream = events.filter((event) => event.stream === started.stream)
  const end = stream.find(({ type }) => type === 'ResendCompleted' || type === 'ResendCancelled')
  if (end === undefined || stream.length !== 2) return [`${resend_id} did not end once`]
  const isMine = (event: Event): boolean =>
    (event.type === 'DeliveryResendRequested' || event.type === 'DeliveryResent') && event.data.resend_id === resend_id
  return told.flatMap((one) => {
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

/** From its start to its end, with nobody else's wish to be served by. */
const isFailed = ({ events }: Told, start: Event, end: Event): boolean => {
  const before = upTo(events, start.position)
  const asked = before.findLastIndex(({ type }) => type === 'DeliveryResendRequested')
  const isServed = asked !== -1 && !before.slice(asked).some(isResendOver)
  const meanwhile = events.filter(({ position }) => position > start.position && position < end.position)
  const isSame = meanwhile.every((_, n) => isDeliveryAt([...before, ...meanwhile.slice(0, n + 1)]) === 'failed')
  const isAsked = meanwhile.some(({ type }) => type === 'DeliveryResendRequested')
  return isDeliveryAt(before) === 'failed' && isSame && !isServed && !isAsked
}
