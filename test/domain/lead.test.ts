import test from 'ava'
import { fold } from '../../domain/decider.js'
import { lead, type LeadEvent } from '../../domain/lead.js'
import { accountId, at, contactId, engagementId, erasureId, leadFacts, leadId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const submitted: LeadEvent = { type: 'LeadSubmitted', data: leadFacts() }
const enrolled: LeadEvent = {
  type: 'LeadEnrolled',
  data: { lead_id: leadId(), account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() },
}

test('a lead is submitted with all that was decided', (t) => {
  given(t, lead).when({ type: 'SubmitLead', facts: leadFacts() }).then(submitted)
})

test('submitting a lead again changes nothing of what the first submission decided', (t) => {
  given(t, lead, submitted)
    .when({ type: 'SubmitLead', facts: leadFacts({ engagement_id: engagementId(2) }) })
    .isAlreadySo()
})

test('an enrolment of an older log changes nothing', (t) => {
  t.deepEqual(fold(lead, lead.initial, [submitted, enrolled]), fold(lead, lead.initial, [submitted]))
})

test('the state of a lead holds no personal value', (t) => {
  const state = JSON.stringify(fold(lead, lead.initial, [submitted, enrolled]))
  for (const personal of ['Ada', 'Example', 'ada@', '+1415', 'consent']) t.false(state.includes(personal))
  t.true(state.includes(leadId()))
})

const erase = { type: 'EraseLead', erasureId: erasureId(), submittedAt: at(5) } as const

test('an erasure leaves the ids of a lead and when it came', (t) => {
  const { lead_id, account_id, source_id, playbook_id, contact_id, engagement_id } = leadFacts()
  const ids = { lead_id, account_id, source_id, playbook_id, contact_id, engagement_id }
  const erased: LeadEvent = { type: 'LeadErased', data: { ...ids, submitted_at: at(5), erasure_id: erasureId() } }
  given(t, lead, { type: 'LeadSubmitted', data: leadFacts() }).when(erase).then(erased)
  given(t, lead, erased).when(erase).isAlreadySo()
  given(t, lead, erased).when({ type: 'SubmitLead', facts: leadFacts() }).isAlreadySo()
  given(t, lead).when(erase).isAlreadySo()
})
