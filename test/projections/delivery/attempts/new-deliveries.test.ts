import test from 'ava'
import type { DomainEvent } from '../../../../domain/events.js'
import { newDeliveries } from '../../../../projections/delivery/attempts/new-deliveries.js'
import { deliveryFacts, deliveryId } from '../../../kit/domain/samples.js'
import { logOf } from '../../../kit/domain/log.js'

const due: DomainEvent = { type: 'DeliveryDue', data: deliveryFacts({}) }

test('a delivery that became due is given once, as it was then', (t) => {
  const fresh = newDeliveries(() => true)
  for (const event of logOf([`delivery-${deliveryId()}`, due])) fresh.learn(event)
  t.like(fresh.take(deliveryId()), { state: { kind: 'due', attempts: 0 }, revision: 0 })
  t.is(fresh.take(deliveryId()), undefined)
})

test('a delivery that the read model showed before its event was learnt has been tried, and is read again', (t) => {
  const fresh = newDeliveries(() => true)
  t.is(fresh.take(deliveryId()), undefined)
  for (const event of logOf([`delivery-${deliveryId()}`, due])) fresh.learn(event)
  t.is(fresh.take(deliveryId()), undefined)
})
