import { delivery, kindAfter, type DeliveryEvent, type ErasedDeliveryEvent } from '../../../domain/delivery.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { Instant } from '../../../domain/instant.js'
import { idIn } from '../../../domain/stream-name.js'

/** What an event made of a delivery: its state, null where that stayed as it was, and the attempt that it tells of. */
type Change = {
  readonly delivery_id: string | undefined
  readonly state: string | null
  readonly attempt: number | undefined
  readonly recorded_at: Instant
  readonly revision: number
}

/** The changes that an event of a delivery tells of: one, none, or all that happened before it was erased. */
export const deliveryChanges = (event: RecordedEvent): ReadonlyArray<Change> => {
  const { stream, time: recorded_at, revision } = event
  const of = { delivery_id: idIn(delivery, stream), recorded_at, revision }
  switch (event.type) {
    case 'DeliveryAttemptFailed':
    case 'DeliverySucceeded':
    case 'DeliveryAbandoned':
    case 'DeliveryResent':
      return [{ ...of, state: stateAfter(event), attempt: event.data.outcome?.attempt }]
    case 'DeliveryHeld':
    case 'DeliveryResumed':
    case 'DeliverySkipped':
      return [{ ...of, state: stateAfter(event), attempt: undefined }]
    case 'DeliveryErased': {
      const { history, state } = event.data
      const told = history.slice(1).map((one, index) => ({ ...of, ...changeIn(one), revision: index + 1 }))
      return state === 'dropped' ? [...told, { ...of, state, attempt: undefined }] : told
    }
    default:
      return []
  }
}

/** The state that a delivery has after an event whatever it was before; null where it stays as it was. */
const stateAfter = (event: DeliveryEvent): string | null => {
  const after = kindAfter('held', event)
  return after === kindAfter('skipped', event) ? after : null
}

const changeIn = ({ type, at, outcome, ...told }: ErasedDeliveryEvent) => ({
  // Of its data nothing else tells what becomes of the state.
  state: stateAfter({ type, data: told } as unknown as DeliveryEvent),
  attempt: outcome?.attempt,
  recorded_at: at,
})
