import test from 'ava'
import type { AttemptOutcome } from '../../../domain/attempt-outcome.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { DeliveryKind } from '../../../domain/delivery.js'
import { deliveries, queueOf } from '../../../projections/read-models/deliveries.js'
import { millisecondsOf } from '../../../domain/instant.js'
import { anyProjection } from '../../../projections/projection.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'
import {
  accountId,
  at,
  contactId,
  deliveryFacts,
  deliveryId,
  engagementId,
  webhookId,
} from '../../kit/domain/samples.js'

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
const held: DomainEvent = { type: 'DeliveryHeld', data: { webhook_id: webhookId(), webhook_version: 3 } }
const resumed: DomainEvent = { type: 'DeliveryResumed', data: { due_at: at(70_000) } }
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
  lead_id: null,
  lead_submitted_at: at(1000),
}
const inState = (state: DeliveryKind, since = at(1000)) => ({
  state,
  state_since: since,
  ...(state === 'succeeded' ? {} : { undelivered: webhookId() }),
})
const inBacklog = (version: number) => ({
  backlog: webhookId(),
  backlog_order: `${1e15 - millisecondsOf(at(1000))}/${at(1000)}`,
  backlog_version: version,
})

test('a delivery that became due waits among the first attempts of its webhook, and its body is not shown', (t) => {
  const queue = queueOf(webhookId(), 'first')
  t.deepEqual(deliveryAfter(due), { ...settled, ...inState('due', at(5)), queue, next_attempt_at: at(5) })
})

test('a delivery that failed waits among the retries for its next attempt', (t) => {
  const waiting = { ...settled, queue: queueOf(webhookId(), 'retry'), failing_since: at(5) }
  t.deepEqual(deliveryAfter(due, failed(1)), {
    ...waiting,
    ...inState('due', at(60_000)),
    attempts: 1,
    last_outcome: outcome(1, 503),
    next_attempt_at: at(60_000),
  })
  t.deepEqual(deliveryAfter(due, failed(1), failed(2)), {
    ...waiting,
    ...inState('due', at(120_000)),
    attempts: 2,
    last_outcome: outcome(2, 503),
    next_attempt_at: at(120_000),
  })
})

test('the first attempts and the retries of one webhook wait apart from those of another', (t) => {
  const queues = [1, 2].flatMap((n) => [queueOf(webhookId(n), 'first'), queueOf(webhookId(n), 'retry')])
  t.is(new Set(queues).size, 4)
})

test('a delivery that succeeded waits for no attempt', (t) => {
  const succeeded: DomainEvent = { type: 'DeliverySucceeded', data: { outcome: outcome(2, 204) } }
  t.deepEqual(deliveryAfter(due, failed(1), succeeded), {
    ...settled,
    ...inState('succeeded'),
    attempts: 2,
    last_outcome: outcome(2, 204),
  })
})

test('a delivery whose retries are exhausted has failed, and waits for its webhook to be turned on', (t) => {
  const last = { ...outcome(19, 503), webhook_version: 3 }
  t.deepEqual(deliveryAfter(due, failed(18), abandoned('retries-exhausted', last)), {
    ...settled,
    ...inState('failed'),
    ...inBacklog(3),
    attempts: 19,
    last_outcome: last,
  })
})

test('a delivery whose webhook was removed still shows its attempts', (t) => {
  t.deepEqual(deliveryAfter(due, failed(1), abandoned('webhook-removed', null)), {
    ...settled,
    ...inState('abandoned'),
    attempts: 1,
    last_outcome: outcome(1, 503),
  })
})

test('a held delivery waits for no attempt', (t) => {
  t.deepEqual(deliveryAfter(due, held), { ...settled, ...inState('held'), ...inBacklog(3) })
})

test('a delivery that is caught up with waits apart from first attempts and retries', (t) => {
  const queue = queueOf(webhookId(), 'caught-up')
  const waiting = { ...settled, ...inState('due', at(70_000)), queue, next_attempt_at: at(70_000) }
  t.deepEqual(deliveryAfter(due, held, resumed), waiting)
})

test('a delivery that is skipped waits for nothing, and counts as undelivered', (t) => {
  const skipped: DomainEvent = { type: 'DeliverySkipped', data: { chosen_by: 'operator' } }
  t.deepEqual(deliveryAfter(due, held, skipped), { ...settled, ...inState('skipped') })
})

test('the newest lead is caught up with first, and of one lead what happened first', (t) => {
  const orders = [
    { lead: at(9000), made: 2 },
    { lead: at(9000), made: 4 },
    { lead: at(8000), made: 1 },
    { lead: at(8000), made: 3 },
  ].map(({ lead, made }) => {
    const data = deliveryFacts({ lead_submitted_at: lead })
    const earlier = Array.from({ length: made }, (): DomainEvent => ({ type: 'DeliveryDue', data }))
    return deliveryAfter(...earlier, held)?.['backlog_order']
  })
  t.deepEqual(orders, orders.toSorted())
  t.is(new Set(orders).size, 4)
})

test('a resend that somebody asked for is shown until it was posted, whatever state the delivery is in', (t) => {
  const data = { webhook_id: webhookId(), resend_id: null, due_at: at(8) }
  const requested: DomainEvent = { type: 'DeliveryResendRequested', data }
  const waiting = { resend: webhookId(), resend_at: at(8) }
  const resent = (delivered: boolean): DomainEvent => ({
    type: 'DeliveryResent',
    data: { resend_id: null, delivered, outcome: outcome(1, delivered ? 200 : 503) },
  })
  const before = deliveryAfter(due, held)
  t.deepEqual(deliveryAfter(due, held, requested), { ...before, ...waiting })
  const tried = { attempts: 1, last_outcome: outcome(1, 503) }
  t.deepEqual(deliveryAfter(due, held, requested, resent(false)), { ...before, ...tried })
  t.deepEqual(deliveryAfter(due, held, requested, resent(true)), {
    ...settled,
    ...inState('succeeded'),
    attempts: 1,
    last_outcome: outcome(1, 200),
  })
  t.deepEqual(deliveryAfter(due, requested, abandoned('webhook-removed', null)), {
    ...settled,
    ...inState('abandoned'),
  })
})

test('what a receiver said stands in no read model', (t) => {
  const said = { ...outcome(1, 503), excerpt: 'Ada Example is unknown here' }
  const data = { outcome: said, next_attempt_at: at(60_000) }
  t.false(JSON.stringify(deliveryAfter(due, { type: 'DeliveryAttemptFailed', data })).includes('Ada'))
})

test('a held delivery stays held when the attempt that was in flight fails', (t) => {
  t.deepEqual(deliveryAfter(due, held, failed(1)), {
    ...settled,
    ...inState('held'),
    ...inBacklog(3),
    attempts: 1,
    last_outcome: outcome(1, 503),
  })
})
