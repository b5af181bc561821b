import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { ParkedEventId } from './ids.js'
import { E, unreachable, type Either } from './prelude.js'

/**
 * An event that a process manager can't handle, however often it tries. `reason` is one of a few words of ours and
 * holds no personal value; the event is known by its stream and its id. `event_revision`: where it stands in its
 * stream. Older versions left it out, and so does whoever could not read the event.
 */
const Facts = t.intersection([
  t.type({
    parked_event_id: ParkedEventId,
    process_manager: t.string,
    event_id: t.string,
    event_type: t.string,
    event_stream: t.string,
    reason: t.string,
  }),
  t.partial({ event_revision: NaturalNumber }),
])
export type ParkedEventFacts = t.TypeOf<typeof Facts>

export const ParkedEventEvent = t.union([
  eventOf('EventParked', Facts),
  /** The process manager is to handle it once more. */
  eventOf('ParkedEventRetryRequested', t.type({ parked_event_id: ParkedEventId, process_manager: t.string })),
  eventOf('ParkedEventRetryFailed', t.type({ reason: t.string })),
  eventOf('ParkedEventHandled', t.type({})),
])
export type ParkedEventEvent = t.TypeOf<typeof ParkedEventEvent>

export type ParkedEventState =
  { readonly kind: 'unknown' } | { readonly kind: 'parked' | 'retrying' | 'handled'; readonly facts: ParkedEventFacts }

export type ParkedEventCommand =
  | { readonly type: 'ParkEvent'; readonly facts: ParkedEventFacts }
  | { readonly type: 'RequestRetry' }
  /** `failure`: why it could not be handled this time either. */
  | { readonly type: 'RecordRetry'; readonly failure: string | undefined }

export type ParkedEventRefusal = { readonly kind: 'parked-event-not-found' }

const evolve = (state: ParkedEventState, event: ParkedEventEvent): ParkedEventState => {
  if (event.type === 'EventParked') return { kind: 'parked', facts: event.data }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'ParkedEventRetryRequested':
      return { ...state, kind: 'retrying' }
    case 'ParkedEventRetryFailed':
      return { ...state, kind: 'parked' }
    case 'ParkedEventHandled':
      return { ...state, kind: 'handled' }
    default:
      return unreachable(event)
  }
}

const decide = (
  command: ParkedEventCommand,
  state: ParkedEventState,
): Either<ParkedEventRefusal, ReadonlyArray<ParkedEventEvent>> => {
  // A process manager that comes by a second time, after a crash, changes nothing.
  if (command.type === 'ParkEvent') {
    return E.right(state.kind === 'unknown' ? [{ type: 'EventParked', data: command.facts }] : [])
  }
  if (state.kind === 'unknown') return E.left({ kind: 'parked-event-not-found' })
  switch (command.type) {
    case 'RequestRetry': {
      const { parked_event_id, process_manager } = state.facts
      const data = { parked_event_id, process_manager }
      // Whoever was to try again may have died since: it may be asked once more.
      return E.right(state.kind === 'handled' ? [] : [{ type: 'ParkedEventRetryRequested', data }])
    }
    case 'RecordRetry': {
      if (state.kind !== 'retrying') return E.right([])
      const { failure } = command
      return E.right([
        failure === undefined
          ? { type: 'ParkedEventHandled', data: {} }
          : { type: 'ParkedEventRetryFailed', data: { reason: failure } },
      ])
    }
    default:
      return unreachable(command)
  }
}

export const parkedEvent: Decider<ParkedEventState, ParkedEventCommand, ParkedEventEvent, ParkedEventRefusal> = {
  category: 'parked',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
