import test from 'ava'
import { parkedEvent, type ParkedEventCommand, type ParkedEventEvent } from '../../domain/parked-event.js'
import { parkedEventFacts, parkedEventId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const facts = parkedEventFacts()
const park: ParkedEventCommand = { type: 'ParkEvent', facts }
const parked: ParkedEventEvent = { type: 'EventParked', data: facts }
const request: ParkedEventCommand = { type: 'RequestRetry' }
const requested: ParkedEventEvent = {
  type: 'ParkedEventRetryRequested',
  data: { parked_event_id: parkedEventId(), process_manager: facts.process_manager },
}
const record = (failure: string | undefined): ParkedEventCommand => ({ type: 'RecordRetry', failure })
const failed: ParkedEventEvent = { type: 'ParkedEventRetryFailed', data: { reason: 'engagement-not-found' } }
const handled: ParkedEventEvent = { type: 'ParkedEventHandled', data: {} }

test('an event is parked once, whatever became of it since', (t) => {
  given(t, parkedEvent).when(park).then(parked)
  for (const since of [[], [requested], [requested, failed], [requested, handled]]) {
    given(t, parkedEvent, parked, ...since)
      .when(park)
      .isAlreadySo()
  }
})

test('a parked event is tried again when somebody asks for it, again and again until it is handled', (t) => {
  given(t, parkedEvent, parked).when(request).then(requested)
  given(t, parkedEvent, parked, requested).when(record('engagement-not-found')).then(failed)
  given(t, parkedEvent, parked, requested, failed).when(request).then(requested)
  given(t, parkedEvent, parked, requested, failed, requested).when(record(undefined)).then(handled)
  given(t, parkedEvent, parked, requested, handled).when(request).isAlreadySo()
})

test('a retry that nobody has answered may be asked for again, and its end is recorded once', (t) => {
  given(t, parkedEvent, parked, requested).when(request).then(requested)
  given(t, parkedEvent, parked, requested, requested).when(record(undefined)).then(handled)
  given(t, parkedEvent, parked, requested, requested, failed).when(record(undefined)).isAlreadySo()
  for (const failure of [undefined, 'engagement-not-found']) {
    given(t, parkedEvent, parked).when(record(failure)).isAlreadySo()
    given(t, parkedEvent, parked, requested, failed).when(record(failure)).isAlreadySo()
    given(t, parkedEvent, parked, requested, handled).when(record(failure)).isAlreadySo()
  }
})

test('what was never parked is not found', (t) => {
  given(t, parkedEvent).when(request).refuses('parked-event-not-found')
  given(t, parkedEvent).when(record(undefined)).refuses('parked-event-not-found')
})
