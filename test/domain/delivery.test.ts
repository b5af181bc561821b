import test from 'ava'
import type { AttemptOutcome } from '../../domain/attempt-outcome.js'
import { fold } from '../../domain/decider.js'
import { delivery, type DeliveryCommand, type DeliveryEvent, type DeliveryKind } from '../../domain/delivery.js'
import type { ResendId } from '../../domain/ids.js'
import { at, deliveryFacts, deliveryId, resendId, webhookId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'
import { rightOf } from '../kit/right-of.js'
import { deliveryRetries, mostAttempts } from '../../domain/retry-schedule.js'

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
const held: DeliveryEvent = { type: 'DeliveryHeld', data: { webhook_id: webhookId(), webhook_version: 2 } }
const succeeded = (n: number): DeliveryEvent => ({ type: 'DeliverySucceeded', data: { outcome: outcome(n, 200) } })
const failed = (n: number): DeliveryEvent => ({
  type: 'DeliveryAttemptFailed',
  data: { outcome: outcome(n), next_attempt_at: at(n * 1000) },
})
const failures = (count: number): ReadonlyArray<DeliveryEvent> => Array.from({ length: count }, (_, n) => failed(n + 1))

const abandoned = (why: 'retries-exhausted' | 'webhook-removed', last: AttemptOutcome | null): DeliveryEvent => ({
  type: 'DeliveryAbandoned',
  data: {
    delivery_id: deliveryId(),
    webhook_id: webhookId(),
    why,
    outcome: last,
    ...(why === 'retries-exhausted' ? { failing_since: at() } : {}),
  },
})

const exhausted = [due, ...failures(deliveryRetries), abandoned('retries-exhausted', outcome(mostAttempts))]
const resumed: DeliveryEvent = { type: 'DeliveryResumed', data: { due_at: at(9) } }
const skipped: DeliveryEvent = { type: 'DeliverySkipped', data: { chosen_by: 'operator' } }
const resume: DeliveryCommand = { type: 'ResumeDelivery', dueAt: at(9) }
const skip: DeliveryCommand = { type: 'SkipDelivery', by: 'operator' }
const hold: DeliveryCommand = { type: 'HoldDelivery', webhookVersion: 2 }
const askFor = (resendId: ResendId | null = null): DeliveryCommand => ({
  type: 'RequestResend',
  resendId,
  dueAt: at(7),
})
const askedFor = (resend_id: ResendId | null = null): DeliveryEvent => ({
  type: 'DeliveryResendRequested',
  data: { webhook_id: webhookId(), resend_id, due_at: at(7) },
})
const resend = (n: number, status = 500): DeliveryCommand => ({
  type: 'RecordResend',
  delivered: status === 200,
  outcome: outcome(n, status),
})
const resent = (n: number, status = 500, resend_id: ResendId | null = null): DeliveryEvent => ({
  type: 'DeliveryResent',
  data: { resend_id, delivered: status === 200, outcome: outcome(n, status) },
})

test('a delivery becomes due with its exact body, once', (t) => {
  const make: DeliveryCommand = { type: 'MakeDue', facts: deliveryFacts(), heldAt: undefined }
  given(t, delivery).when(make).then(due)
  given(t, delivery, due).when(make).isAlreadySo()
  given(t, delivery, due, succeeded(1)).when(make).isAlreadySo()
})

test('a delivery of a webhook that is off is held from the start', (t) => {
  given(t, delivery).when({ type: 'MakeDue', facts: deliveryFacts(), heldAt: 2 }).then(due, held)
})

test('a delivery that succeeded is tried no more', (t) => {
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

test('an attempt counts only in its turn', (t) => {
  given(t, delivery, due).when(attempt(2)).isAlreadySo()
  given(t, delivery, due).when(attempt(mostAttempts)).isAlreadySo()
})

test('the last failure but one leaves one retry, the last one abandons', (t) => {
  given(t, delivery, due, ...failures(deliveryRetries - 1))
    .when(attempt(deliveryRetries))
    .then(failed(deliveryRetries))
  given(t, delivery, due, ...failures(deliveryRetries))
    .when(attempt(mostAttempts))
    .then(abandoned('retries-exhausted', outcome(mostAttempts)))
})

test('the last retry may still succeed', (t) => {
  given(t, delivery, due, ...failures(deliveryRetries))
    .when(attempt(mostAttempts, 200))
    .then(succeeded(mostAttempts))
})

test('a delivery whose retries are exhausted is not tried again by itself, and not held', (t) => {
  for (const command of [attempt(mostAttempts), attempt(mostAttempts + 1, 200), hold]) {
    given(t, delivery, ...exhausted)
      .when(command)
      .isAlreadySo()
  }
})

test('an abandoned delivery stays so', (t) => {
  const over = [due, failed(1), abandoned('webhook-removed', null)]
  for (const command of [attempt(2), attempt(2, 200), hold, resume, skip, { type: 'AbandonDelivery' }] as const) {
    given(t, delivery, ...over)
      .when(command)
      .isAlreadySo()
  }
})

test('a delivery is held once', (t) => {
  given(t, delivery, due, failed(1)).when(hold).then(held)
  given(t, delivery, due, held).when(hold).isAlreadySo()
})

test('a delivery whose webhook was removed is abandoned without an attempt', (t) => {
  given(t, delivery, due, failed(1)).when({ type: 'AbandonDelivery' }).then(abandoned('webhook-removed', null))
  given(t, delivery, due, held).when({ type: 'AbandonDelivery' }).then(abandoned('webhook-removed', null))
})

test('an unknown delivery is not found', (t) => {
  for (const command of [attempt(1), hold, { type: 'AbandonDelivery' }] as const) {
    given(t, delivery).when(command).refuses('delivery-not-found')
  }
})

test('the attempt that was in flight when its delivery was held counts, and leaves it held', (t) => {
  given(t, delivery, due, held).when(attempt(1, 200)).then(succeeded(1))
  given(t, delivery, due, held, failed(1)).when(hold).isAlreadySo()
  given(t, delivery, due, held, failed(1)).when(resume).then(resumed)
})

test('the attempt that was in flight when its delivery was skipped counts, and leaves it skipped unless it succeeded', (t) => {
  given(t, delivery, due, held, skipped).when(attempt(1, 200)).then(succeeded(1))
  given(t, delivery, due, held, skipped).when(attempt(1)).then(failed(1))
  given(t, delivery, due, ...failures(deliveryRetries), held, skipped)
    .when(attempt(mostAttempts))
    .then(failed(mostAttempts))
  t.is([due, held, skipped, failed(1)].reduce(delivery.evolve, delivery.initial).kind, 'skipped')
})

test('what is held or exhausted is caught up with or skipped, once', (t) => {
  for (const waiting of [[due, held], exhausted]) {
    given(t, delivery, ...waiting)
      .when(resume)
      .then(resumed)
    given(t, delivery, ...waiting)
      .when(skip)
      .then(skipped)
    given(t, delivery, ...waiting, resumed)
      .when(skip)
      .isAlreadySo()
    given(t, delivery, ...waiting, skipped)
      .when(resume)
      .isAlreadySo()
  }
  for (const other of [[due], [due, failed(1)], [due, succeeded(1)]]) {
    for (const command of [resume, skip]) {
      given(t, delivery, ...other)
        .when(command)
        .isAlreadySo()
    }
  }
})

test('what is caught up with has a whole schedule before it, counted on from those it had', (t) => {
  const again = Array.from({ length: deliveryRetries }, (_, n) => failed(mostAttempts + 1 + n))
  given(t, delivery, ...exhausted, resumed)
    .when(attempt(mostAttempts + 1))
    .then(failed(mostAttempts + 1))
  const last = abandoned('retries-exhausted', outcome(2 * mostAttempts))
  if (last.type !== 'DeliveryAbandoned') return t.fail()
  given(t, delivery, ...exhausted, resumed, ...again)
    .when(attempt(2 * mostAttempts))
    .then({ ...last, data: { ...last.data, failing_since: at(9) } })
})

test('whatever its state a delivery is posted once more for whoever asks, and one that waits serves all', (t) => {
  for (const any of [[due], [due, held], [due, succeeded(1)], exhausted, [due, held, skipped]]) {
    given(t, delivery, ...any)
      .when(askFor())
      .then(askedFor())
    given(t, delivery, ...any, askedFor())
      .when(askFor(resendId()))
      .isAlreadySo()
  }
})

test('a resend that fails counts for nothing, and one that succeeds ends the delivery', (t) => {
  given(t, delivery, due, failed(1), askedFor()).when(resend(2)).then(resent(2))
  given(t, delivery, due, failed(1), askedFor(), resent(2)).when(attempt(3)).then(failed(3))
  given(t, delivery, due, failed(1), askedFor(), resent(2, 200)).when(attempt(3)).isAlreadySo()
  given(t, delivery, ...exhausted, askedFor())
    .when(resend(mostAttempts + 1))
    .then(resent(mostAttempts + 1))
  // One failure of its own is lacking, since that of a resend does not count: a retry is left.
  given(t, delivery, due, ...failures(deliveryRetries - 1), askedFor(), resent(deliveryRetries))
    .when(attempt(mostAttempts))
    .then(failed(mostAttempts))
})

test('a second record of one resend is a repeat, and none is recorded that nobody asked for', (t) => {
  given(t, delivery, due, askedFor(), resent(1)).when(resend(1)).isAlreadySo()
  given(t, delivery, due, failed(1)).when(resend(2)).isAlreadySo()
  given(t, delivery, due, askedFor()).when(resend(2)).isAlreadySo()
})

test('a resend of many requests each delivery once, and another one may request it again', (t) => {
  const one = [...exhausted, askedFor(resendId(1)), resent(mostAttempts + 1, 500, resendId(1))]
  given(t, delivery, ...one)
    .when(askFor(resendId(1)))
    .isAlreadySo()
  given(t, delivery, ...one)
    .when(askFor(resendId(2)))
    .then(askedFor(resendId(2)))
})

test('a resend whose webhook was removed waits no longer, and a delivery that succeeded stays so', (t) => {
  const removed = abandoned('webhook-removed', null)
  given(t, delivery, due, succeeded(1), askedFor()).when({ type: 'AbandonDelivery' }).then(removed)
  given(t, delivery, due, succeeded(1), askedFor(), removed).when({ type: 'AbandonDelivery' }).isAlreadySo()
  t.is([due, succeeded(1), askedFor(), removed].reduce(delivery.evolve, delivery.initial).kind, 'succeeded')
})

const history = (...types: ReadonlyArray<DeliveryEvent['type']>) => types.map((type, n) => ({ type, at: at(n) }))
const erase = (...types: ReadonlyArray<DeliveryEvent['type']>): DeliveryCommand => ({
  type: 'EraseDelivery',
  why: 'contact-erased',
  createdAt: at(),
  at: at(-1),
  history: history(...types),
})
const { body: _body, ...subject } = deliveryFacts()
const erasedAs = (state: DeliveryKind, ...types: ReadonlyArray<DeliveryEvent['type']>): DeliveryEvent => ({
  type: 'DeliveryErased',
  data: { ...subject, why: 'contact-erased', state, created_at: at(), history: history(...types) },
})

test('an erasure drops a delivery that waits, and leaves of any other how it stood', (t) => {
  given(t, delivery, due).when(erase('DeliveryDue')).then(erasedAs('dropped', 'DeliveryDue'))
  given(t, delivery, due, held)
    .when(erase('DeliveryDue', 'DeliveryHeld'))
    .then(erasedAs('dropped', 'DeliveryDue', 'DeliveryHeld'))
  given(t, delivery, due, succeeded(1))
    .when(erase('DeliveryDue', 'DeliverySucceeded'))
    .then(erasedAs('succeeded', 'DeliveryDue', 'DeliverySucceeded'))
})

test('an erasure says where an attempt may be under way: what is due by then, and a resend', (t) => {
  const now = { at: at(60_000) }
  const underWay = (event: DeliveryEvent): DeliveryEvent =>
    event.type === 'DeliveryErased' ? { ...event, data: { ...event.data, under_way: true } } : event
  given(t, delivery, due)
    .when({ ...erase('DeliveryDue'), ...now })
    .then(underWay(erasedAs('dropped', 'DeliveryDue')))
  given(t, delivery, due, held)
    .when({ ...erase('DeliveryDue', 'DeliveryHeld'), ...now })
    .then(erasedAs('dropped', 'DeliveryDue', 'DeliveryHeld'))
  given(t, delivery, due, succeeded(1), askedFor())
    .when(erase('DeliveryDue', 'DeliverySucceeded', 'DeliveryResendRequested'))
    .then(underWay(erasedAs('succeeded', 'DeliveryDue', 'DeliverySucceeded', 'DeliveryResendRequested')))
})

test('nothing follows for a delivery that was erased, and it can not be resent', (t) => {
  const erased = erasedAs('dropped', 'DeliveryDue')
  for (const command of [attempt(1, 200), hold, resume, skip, erase('DeliveryDue')])
    given(t, delivery, erased).when(command).isAlreadySo()
  given(t, delivery, erased).when(askFor()).refuses('delivery-erased')
})

test('an erasure that has not read the newest event of a delivery begins anew', (t) => {
  given(t, delivery, due, failed(1)).when(erase('DeliveryDue')).refuses('delivery-changed')
})

test('what still waits to be posted is kept, however old it is', (t) => {
  const expire = (...types: ReadonlyArray<DeliveryEvent['type']>): DeliveryCommand =>
    ({
      ...erase(...types),
      why: 'retention',
    }) as DeliveryCommand
  given(t, delivery, due).when(expire('DeliveryDue')).refuses('delivery-waiting')
  given(t, delivery, due, held).when(expire('DeliveryDue', 'DeliveryHeld')).refuses('delivery-waiting')
})

test('an erased delivery tells of its first event and of the newest, however many there were', (t) => {
  const types = [...Array.from({ length: 400 }, () => 'DeliveryAttemptFailed' as const)]
  const state = delivery.decide(
    { ...erase('DeliveryDue', ...types) },
    fold(delivery, delivery.initial, [due, ...failures(18), ...Array.from({ length: 382 }, () => held)]),
  )
  const [event] = rightOf(state)
  t.is(event?.type === 'DeliveryErased' ? event.data.history.length : 0, 200)
  t.is(event?.type === 'DeliveryErased' ? event.data.history[0]?.type : undefined, 'DeliveryDue')
})
