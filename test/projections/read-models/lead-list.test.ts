import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { leadList } from '../../../projections/read-models/lists/lead-list.js'
import { anyProjection } from '../../../projections/projection.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'
import { accountId, at, contactId, engagementId, leadFacts, leadId, sourceId } from '../../kit/domain/samples.js'

const leadsAfter = (...events: ReadonlyArray<DomainEvent>) =>
  project(anyProjection(leadList), logOf(...events.map((event) => [`lead-${leadId()}`, event] as const)))

const submitted: DomainEvent = {
  type: 'LeadSubmitted',
  data: leadFacts({ originators: [{ origin: 'Search ads', key: 'crm-1' }] }),
}

const document = {
  account_id: accountId(),
  source_id: sourceId(),
  id: leadId(),
  contact_id: contactId(),
  next_engagement_id: engagementId(),
  lead_originators: [{ origin: 'Search ads', key: 'crm-1' }],
  submitted_at: at(1000),
}

test('a lead shows its ids and originators, and nothing of the person', (t) => {
  t.deepEqual(leadsAfter(submitted), { [leadId()]: document })
})

test('enrolment changes nothing that is shown', (t) => {
  const ids = {
    lead_id: leadId(),
    account_id: accountId(),
    contact_id: contactId(),
    engagement_id: engagementId(),
  }
  t.deepEqual(leadsAfter(submitted, { type: 'LeadEnrolled', data: ids }), leadsAfter(submitted))
})
