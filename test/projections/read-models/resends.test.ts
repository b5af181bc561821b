import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { anyProjection } from '../../../projections/projection.js'
import { resends } from '../../../projections/read-models/resends.js'
import { accountId, at, deliveryId, resendId, webhookId } from '../../kit/domain/samples.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'

type Entry = readonly [stream: string, event: DomainEvent]

const started: Entry = [
  `resend-${resendId()}`,
  {
    type: 'ResendStarted',
    data: { resend_id: resendId(), account_id: accountId(), webhook_id: webhookId(), from: at(0), to: at(9) },
  },
]

const requested = (n: number): Entry => [
  `delivery-${deliveryId(n)}`,
  {
    type: 'DeliveryResendRequested',
    data: { webhook_id: webhookId(), resend_id: resendId(), due_at: at(20) },
  },
]

const resent = (n: number, delivered: boolean): Entry => [
  `delivery-${deliveryId(n)}`,
  {
    type: 'DeliveryResent',
    data: {
      resend_id: resendId(),
      delivered,
      outcome: { attempt: 20, status: delivered ? 200 : 500, reason: 'answered', duration_ms: 5 },
    },
  },
]

const counted = (requested: number, delivered: number, failed: number): Entry => [
  `resend-${resendId()}`,
  { type: 'ResendCounted', data: { requested, delivered, failed } },
]

const countsAfter = (...entries: ReadonlyArray<Entry>) => {
  const document = project(anyProjection(resends), logOf(...entries))[resendId()]
  return [document?.['requested'], document?.['delivered'], document?.['failed']]
}

test('a bulk resend counts what it asked for, and how that ended', (t) => {
  const log = [started, requested(1), requested(2), requested(3), resent(1, true), resent(2, false)]
  t.deepEqual(countsAfter(...log), [3, 1, 1])
})

test('what was counted before deliveries were erased is kept where their events are gone', (t) => {
  t.deepEqual(countsAfter(started, requested(3), counted(3, 1, 1), resent(3, true)), [3, 2, 1])
})

test('what other deliveries added after the count was taken, and before it was recorded, still counts', (t) => {
  const log = [started, requested(1), requested(2), resent(1, true), resent(2, true)]
  t.deepEqual(countsAfter(...log, counted(2, 1, 0)), [2, 2, 0])
  t.deepEqual(countsAfter(...log, requested(3), resent(3, false), counted(2, 1, 0)), [3, 2, 1])
})
