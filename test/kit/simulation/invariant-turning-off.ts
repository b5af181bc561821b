import { mostAttempts } from '../../../domain/retry-schedule.js'
import type { History } from './simulation.js'
import {
  isFailure,
  scheduledIn,
  schedulesIn,
  recordsIn,
  upTo,
  webhooksIn,
  type Event,
  type DeliveryRecord,
} from './delivery-record.js'

/** A webhook is turned off by the last failure that a delivery may have, and by nothing else (contract 6.6.4). */
export const turningOffBreaches = (history: History): ReadonlyArray<string> => {
  const records = recordsIn(history)
  return [
    ...[...webhooksIn(history).values()].flatMap((events) => turnedOff(events, records)),
    ...records.flatMap(leftOn),
  ]
}

const turnedOff = (webhook: ReadonlyArray<Event>, records: ReadonlyArray<DeliveryRecord>): ReadonlyArray<string> =>
  webhook.flatMap((off, index) => {
    if (off.type !== 'WebhookTurnedOff') return []
    const before = webhook.slice(0, index)
    const on = before.findLastIndex(({ type }) => type === 'WebhookTurnedOn')
    const failed = records.find(({ due }) => due.data.delivery_id === off.data.delivery_id)
    const schedules = schedulesIn(upTo(failed?.events ?? [], off.position))
    // The webhook may have been turned on meanwhile, and then the delivery has a new schedule.
    const exhausted = schedules.findLast((events) => events.some(({ type }) => type === 'DeliveryAbandoned')) ?? []
    const failures = exhausted.flatMap(scheduledIn)
    const version = failures.at(-1)?.webhook_version ?? 0
    const where = `${off.stream}, version ${index + 1}`
    return [
      ...(before.slice(on + 1).some(({ type }) => type === 'WebhookTurnedOff') ? [`${where} was off already`] : []),
      ...(failures.length === mostAttempts && failures.every(isFailure)
        ? []
        : [`${where} was turned off after ${failures.length} attempts of one delivery`]),
      ...(version > on ? [] : [`${where} was turned off by an attempt of version ${version}`]),
    ]
  })

/** After a last attempt failed its webhook was turned off or removed, by that failure or by an earlier one. */
const leftOn = ({ due, events, webhook }: DeliveryRecord): ReadonlyArray<string> =>
  events.flatMap((event) => {
    if (event.type !== 'DeliveryAbandoned' || event.data.outcome === null) return []
    const after = webhook.slice(event.data.outcome.webhook_version)
    const isTurnedOff = after.some(({ type }) => type === 'WebhookTurnedOff' || type === 'WebhookRemoved')
    return isTurnedOff ? [] : [`${due.data.webhook_id} was left on after ${due.data.delivery_id}`]
  })
