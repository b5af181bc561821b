import test from 'ava'
import { delivery, type AttemptOutcome, type DeliveryCommand, type DeliveryEvent } from '../../domain/delivery.js'
import { at, deliveryFacts, deliveryId, webhookId } from '../support/samples.js'
import { given } from '../support/specification.js'

const outcome = (attempt: number, status: number | null = 500): AttemptOutcome => ({
  attempt,
  status,
  reason: status === null ? 'no response' : `HTTP ${status}`,
  duration_ms: 12,
})

const attempt = (n: number, status: number | null = 500): DeliveryCommand => ({
  type: 'RecordAttempt',
  delivered: status === 200,
  outcome: outcome(n, status),
  nextAttemptAt: at(n * 1000),
})

const due: DeliveryEvent = { type: 'DeliveryDue', data: deliveryFacts() }
const held: DeliveryEvent = { type: 'DeliveryHeld', data: {} }
const succeeded = (n: number): DeliveryEvent => ({ type: 'DeliverySucceeded', data: { outcome: outcome(n, 200) } })
const failed = (n: number): DeliveryEvent => ({
  type: 'DeliveryAttemptFailed',
  data: { outcome: outcome(n), next_attempt_at: at(n * 1000) },
})
const failures = (count: number): ReadonlyArray<DeliveryEvent> => Array.from({ length: count }, (_, n) => failed(n + 1))

const abandoned = (why: 'retries-exhausted' | 'webhook-removed', last: AttemptOutcome | null): DeliveryEvent => ({
  type: 'DeliveryAbandoned',
  data: { delivery_id: deliveryId(), webhook_id: webhookId(), why, outcome: last },
})

test('a delivery becomes due with its exact body, once', (t) => {
  const make: DeliveryCommand = { type: 'MakeDue', facts: deliveryFacts(), held: false }
  given(t, delivery).when(make).then(due)
  given(t, delivery, due).when(make).isAlreadySo()
  given(t, delivery, due, succeeded(1)).when(make).isAlreadySo()
})

test('a delivery of a webhook that is off is held from the start', (t) => {
  given(t, delivery).when({ type: 'MakeDue', facts: deliveryFacts(), held: true }).then(due, held)
})

test('a success ends it', (t) => {
  given(t, delivery, due).when(attempt(1, 200)).then(succeeded(1))
  given(t, delivery, due, failed(1)).when(attempt(2, 200)).then(succeeded(2))
  given(t, delivery, due, succeeded(1)).when(attempt(2)).isAlreadySo()
})

test('a failure names the time of the next attempt', (t) => {
  given(t, delivery, due).when(attempt(1)).then(failed(1))
  given(t, delivery, due, failed(1)).when(attempt(2)).then(failed(2))
})

test('a failure without a response is a failure', (t) => {
  given(t, delivery, due)
    .when(attempt(1, null))
    .then({ type: 'DeliveryAttemptFailed', data: { outcome: outcome(1, null), next_attempt_at: at(1000) } })
})

test('an attempt that was recorded before is already so, however it ended', (t) => {
  given(t, delivery, due, failed(1)).when(attempt(1)).isAlreadySo()
  given(t, delivery, due, failed(1)).when(attempt(1, 200)).isAlreadySo()
  given(t, delivery, due, failed(1), failed(2)).when(attempt(1)).isAlreadySo()
})

test('only the next attempt counts', (t) => {
  given(t, delivery, due).when(attempt(2)).isAlreadySo()
  given(t, delivery, due).when(attempt(19)).isAlreadySo()
})

test('the eighteenth failure leaves one retry, the nineteenth abandons', (t) => {
  given(t, delivery, due, ...failures(17))
    .when(attempt(18))
    .then(failed(18))
  given(t, delivery, due, ...failures(18))
    .when(attempt(19))
    .then(abandoned('retries-exhausted', outcome(19)))
})

test('the last retry may still succeed', (t) => {
  given(t, delivery, due, ...failures(18))
    .when(attempt(19, 200))
    .then(succeeded(19))
})

test('an abandoned delivery stays so', (t) => {
  const over = [due, ...failures(18), abandoned('retries-exhausted', outcome(19))]
  for (const command of [
    attempt(19),
    attempt(20, 200),
    { type: 'HoldDelivery' },
    { type: 'AbandonDelivery' },
  ] as const) {
    given(t, delivery, ...over)
      .when(command)
      .isAlreadySo()
  }
})

test('a delivery is held once', (t) => {
  given(t, delivery, due, failed(1)).when({ type: 'HoldDelivery' }).then(held)
  given(t, delivery, due, held).when({ type: 'HoldDelivery' }).isAlreadySo()
})

test('a delivery whose webhook was removed is abandoned without an attempt', (t) => {
  given(t, delivery, due, failed(1)).when({ type: 'AbandonDelivery' }).then(abandoned('webhook-removed', null))
  given(t, delivery, due, held).when({ type: 'AbandonDelivery' }).then(abandoned('webhook-removed', null))
})

test('an unknown delivery is not found', (t) => {
  for (const command of [attempt(1), { type: 'HoldDelivery' }, { type: 'AbandonDelivery' }] as const) {
    given(t, delivery).when(command).refuses('delivery-not-found')
  }
})
