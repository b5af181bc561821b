import test from 'ava'
import type { AttemptOutcome } from '../../domain/delivery.js'
import type { DomainEvent } from '../../domain/domain-event.js'
import { deliveries, laneOf } from '../../projections/deliveries.js'
import { anyProjection } from '../../projections/projection.js'
import { logOf } from '../support/log.js'
import { project } from '../support/project.js'
import { accountId, at, contactId, deliveryFacts, deliveryId, engagementId, webhookId } from '../support/samples.js'

const deliveryAfter = (...events: ReadonlyArray<DomainEvent>) =>
  project(anyProjection(deliveries), logOf(...events.map((event) => [`delivery-${deliveryId()}`, event] as const)))[
    deliveryId()
  ]

const outcome = (attempt: number, status: number): AttemptOutcome => ({
  attempt,
  status,
  reason: `HTTP ${status}`,
  duration_ms: 12,
})

const due: DomainEvent = { type: 'DeliveryDue', data: deliveryFacts({ due_at: at(5) }) }
const held: DomainEvent = { type: 'DeliveryHeld', data: {} }
const failed = (n: number): DomainEvent => ({
  type: 'DeliveryAttemptFailed',
  data: { outcome: outcome(n, 503), next_attempt_at: at(n * 60_000) },
})
const abandoned = (why: 'retries-exhausted' | 'webhook-removed', last: AttemptOutcome | null): DomainEvent => ({
  type: 'DeliveryAbandoned',
  data: { delivery_id: deliveryId(), webhook_id: webhookId(), why, outcome: last },
})

const settled = {
  account_id: accountId(),
  id: deliveryId(),
  webhook_id: webhookId(),
  contact_id: contactId(),
  engagement_id: engagementId(),
  label: 'started',
  created_at: at(1000),
  attempts: 0,
  last_outcome: null,
}

test('a due delivery waits in the first lane of its webhook, without its body', (t) => {
  const lane = laneOf(webhookId(), 'first')
  t.deepEqual(deliveryAfter(due), { ...settled, state: 'due', lane, next_attempt_at: at(5) })
})

test('after a failure it waits in the retry lane for its next attempt', (t) => {
  const waiting = { ...settled, state: 'due', lane: laneOf(webhookId(), 'retry') }
  t.deepEqual(deliveryAfter(due, failed(1)), {
    ...waiting,
    attempts: 1,
    last_outcome: outcome(1, 503),
    next_attempt_at: at(60_000),
  })
  t.deepEqual(deliveryAfter(due, failed(1), failed(2)), {
    ...waiting,
    attempts: 2,
    last_outcome: outcome(2, 503),
    next_attempt_at: at(120_000),
  })
})

test('the first lane and the retry lane of a webhook are not those of another', (t) => {
  const lanes = [1, 2].flatMap((n) => [laneOf(webhookId(n), 'first'), laneOf(webhookId(n), 'retry')])
  t.is(new Set(lanes).size, 4)
})

test('a delivery that succeeded waits in no lane', (t) => {
  const succeeded: DomainEvent = { type: 'DeliverySucceeded', data: { outcome: outcome(2, 204) } }
  t.deepEqual(deliveryAfter(due, failed(1), succeeded), {
    ...settled,
    state: 'succeeded',
    attempts: 2,
    last_outcome: outcome(2, 204),
  })
})

test('a delivery whose retries are exhausted shows its last attempt', (t) => {
  t.deepEqual(deliveryAfter(due, failed(18), abandoned('retries-exhausted', outcome(19, 503))), {
    ...settled,
    state: 'abandoned',
    attempts: 19,
    last_outcome: outcome(19, 503),
  })
})

test('a delivery whose webhook was removed keeps what was tried', (t) => {
  t.deepEqual(deliveryAfter(due, failed(1), abandoned('webhook-removed', null)), {
    ...settled,
    state: 'abandoned',
    attempts: 1,
    last_outcome: outcome(1, 503),
  })
})

test('a held delivery waits in no lane', (t) => {
  t.deepEqual(deliveryAfter(due, held), { ...settled, state: 'held', held_for: webhookId() })
})

test('a held delivery still waits in no lane when the attempt that was under way fails', (t) => {
  t.deepEqual(deliveryAfter(due, held, failed(1)), {
    ...settled,
    state: 'held',
    held_for: webhookId(),
    attempts: 1,
    last_outcome: outcome(1, 503),
  })
})

test('a held delivery that ended otherwise is held no longer', (t) => {
  t.deepEqual(deliveryAfter(due, held, abandoned('webhook-removed', null)), { ...settled, state: 'abandoned' })
})
