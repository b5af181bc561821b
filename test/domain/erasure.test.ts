import test from 'ava'
import { Asker, erasure, type ErasureEvent } from '../../domain/erasure.js'
import { accountId, contactId, deliveryId, erasureId, leadId, webhookId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const facts = { erasure_id: erasureId(), account_id: accountId(), contact_id: contactId(), by: 'operator' }
const requested: ErasureEvent = { type: 'ErasureRequested', data: facts }
const summary = {
  webhooks: [{ webhook_id: webhookId(), deliveries: 2 }],
  dropped: [deliveryId(2)],
  dropped_count: 1,
}
const counted = { ...summary, webhooks_count: 1 }
const completed: ErasureEvent = { type: 'ErasureCompleted', data: { erasure_id: erasureId(), ...summary } }

test('an erasure is requested once, and remembers who asked first', (t) => {
  given(t, erasure).when({ type: 'RequestErasure', facts }).then(requested)
  given(t, erasure, requested)
    .when({ type: 'RequestErasure', facts: { ...facts, by: 'mbr_other' } })
    .isAlreadySo()
})

test('an erasure ends once, with what was told and what was dropped', (t) => {
  given(t, erasure, requested).when({ type: 'CompleteErasure', summary: counted }).then(completed)
  given(t, erasure, requested, completed)
    .when({ type: 'CompleteErasure', summary: { ...counted, dropped_count: 9 } })
    .isAlreadySo()
})

test('an erasure names the first thousand webhooks, and counts all of them', (t) => {
  const webhooks = Array.from({ length: 1_001 }, (_, n) => ({ webhook_id: webhookId(n), deliveries: 1 }))
  const many = { ...summary, webhooks, webhooks_count: 1_001 }
  const data = { erasure_id: erasureId(), ...many, webhooks: webhooks.slice(0, 1_000) }
  given(t, erasure, requested).when({ type: 'CompleteErasure', summary: many }).then({ type: 'ErasureCompleted', data })
})

test('a lead that came too late is erased too, also after the end', (t) => {
  const late: ErasureEvent = { type: 'LateLeadFound', data: { erasure_id: erasureId(), lead_id: leadId(3) } }
  const command = { type: 'AddLateLead', erasureId: erasureId(), leadId: leadId(3) } as const
  given(t, erasure, requested, completed).when(command).then(late)
  given(t, erasure, requested, late, completed).when(command).isAlreadySo()
})

test('who asks is kept as an id: an e-mail address, a name and an endless text are refused', (t) => {
  for (const id of ['operator', 'mbr_01KEZ5Q2V8Y0M3N6R9S2T5W8X1', 'ticket:4711', 'a.b-c']) t.true(Asker.is(id), id)
  for (const text of ['', 'ada@example.com', 'Ada Lovelace', 'x'.repeat(101), 7]) t.false(Asker.is(text), String(text))
})
