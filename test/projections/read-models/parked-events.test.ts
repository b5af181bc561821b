import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { anyProjection } from '../../../projections/projection.js'
import { parkedEvents } from '../../../projections/read-models/parked-events.js'
import { logOf } from '../../kit/domain/log.js'
import { at, parkedEventFacts, parkedEventId, uuid } from '../../kit/domain/samples.js'
import { project } from '../../kit/parts/project.js'

const documentAfter = (...events: ReadonlyArray<DomainEvent>) =>
  project(anyProjection(parkedEvents), logOf(...events.map((event) => [`parked-${parkedEventId()}`, event] as const)))[
    parkedEventId()
  ]

const parked: DomainEvent = { type: 'EventParked', data: parkedEventFacts() }
const requested: DomainEvent = {
  type: 'ParkedEventRetryRequested',
  data: { parked_event_id: parkedEventId(), process_manager: 'reactions' },
}
const failed: DomainEvent = { type: 'ParkedEventRetryFailed', data: { reason: 'an exception (TypeError)' } }

test('a parked event is shown with its newest reason until it was handled', (t) => {
  const shown = {
    id: parkedEventId(),
    process_manager: 'reactions',
    event_id: uuid(1),
    event_type: 'LeadSubmitted',
    reason: 'contact-not-found',
    at: at(1000),
    created_at: at(1000),
  }
  t.deepEqual(documentAfter(parked), shown)
  t.deepEqual(documentAfter(parked, requested), shown)
  const again = { ...shown, reason: 'an exception (TypeError)', at: at(3000) }
  t.deepEqual(documentAfter(parked, requested, failed), again)
  t.is(documentAfter(parked, requested, failed, requested, { type: 'ParkedEventHandled', data: {} }), undefined)
})
