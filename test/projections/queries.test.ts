import test from 'ava'
import type { ContactEvent } from '../../domain/contact.js'
import { E } from '../../domain/prelude.js'
import { queries } from '../../projections/queries.js'
import { accountId, contactId, details, leadId, contactCreated } from '../kit/domain/samples.js'
import { newEvent } from '../kit/domain/new-events.js'
import { documentState, memoryDocuments } from '../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../kit/memory/event-store.js'
import { countedReads } from '../kit/parts/counted-reads.js'
import { rightOf } from '../kit/right-of.js'

const changed = (n: number): ContactEvent => ({
  type: 'ContactDetailsChanged',
  data: { lead_id: leadId(n), details: details({ first_name: `Ada ${n}` }) },
})

/** A contact of so many events that no read model shows. */
const openStage = async (events: number, isPending = false) => {
  const { store, taken } = countedReads(memoryEventStore(memoryLog()))
  for (let n = 0; n < events; n += 1) {
    const event = newEvent(n + 1, n === 0 ? contactCreated : changed(n))
    rightOf(await store.append(`contact-${contactId()}`, n === 0 ? 'no-stream' : n - 1, [event]))
  }
  const documents = memoryDocuments(documentState())
  return { ...queries({ store, documents, hasPendingReactions: () => Promise.resolve(isPending) }), taken }
}

test('a contact that the read model does not show yet is shown as its stream tells', async (t) => {
  const { contactById } = await openStage(200)
  t.like(rightOf(await contactById(accountId(), contactId())), { first_name: 'Ada 199' })
  t.is(rightOf(await contactById(accountId(2), contactId())), undefined)
  t.is(rightOf(await contactById(accountId(), contactId(2))), undefined)
})

test('a contact of a thousand events is still shown, and none of more while the read model does not', async (t) => {
  const { contactById } = await openStage(1_000)
  t.like(rightOf(await contactById(accountId(), contactId())), { first_name: 'Ada 999' })
  const longer = await openStage(1_001)
  t.like(await longer.contactById(accountId(), contactId()), E.left({ kind: 'unavailable' as const }))
})

test('of a long stream no more than its beginning is read while the read model does not show the contact', async (t) => {
  const { contactById, taken } = await openStage(2_000)
  const found = await contactById(accountId(), contactId())
  t.like(found, E.left({ kind: 'unavailable' as const }))
  t.true(taken().events <= 1_001)
  t.is(rightOf(await contactById(accountId(2), contactId())), undefined)
})

test('a contact that an accepted lead may still create is not said to be missing', async (t) => {
  const { contactById } = await openStage(1, true)
  t.like(await contactById(accountId(), contactId(2)), E.left({ kind: 'unavailable' as const }))
  t.like(rightOf(await contactById(accountId(), contactId())), { first_name: 'Ada' })
})
