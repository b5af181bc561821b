import type { History } from './simulation.js'
import {
  isFailure,
  mostAttempts,
  scheduledIn,
  schedulesIn,
  toldIn,
  upTo,
  webhooksIn,
  type Event,
  type Told,
} from './told.js'

/** A webhook is turned off by the nineteenth failure of one delivery, and by nothing else (contract 6.6.4). */
export const turningOffBreaches = (history: History): ReadonlyArray<string> => {
  const told = toldIn(history)
  return [...[...webhooksIn(history).values()].flatMap((events) => turnedOff(events, told)), ...told.flatMap(leftOn)]
}

const turnedOff = (webhook: ReadonlyArray<Event>, told: ReadonlyArray<Told>): ReadonlyArray<string> =>
  webhook.flatMap((off, index) => {
    if (off.type !== 'WebhookTurnedOff') return []
    const before = webhook.slice(0, index)
    const on = before.findLastIndex(({ type }) => type === 'WebhookTurnedOn')
    const failed = told.find(({ due }) => due.data.delivery_id === off.data.delivery_id)
    const schedules = schedulesIn(upTo(failed?.events ?? [], off.position))
    // Turned on meanwhile it may be under way again.
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

/** After the version that a last attempt went by, its webhook was turned off or removed, by whichever failure was first. */
const leftOn = ({ due, events, webhook }: Told): ReadonlyArray<string> =>
  events.flatMap((event) => {
    if (event.type !== 'DeliveryAbandoned' || event.data.outcome === null) return []
    const after = webhook.slice(event.data.outcome.webhook_version)
    const isTurnedOff = after.some(({ type }) => type === 'WebhookTurnedOff' || type === 'WebhookRemoved')
    return isTurnedOff ? [] : [`${due.data.webhook_id} was left on after ${due.data.delivery_id}`]
  })
