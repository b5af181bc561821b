import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { contacts } from '../../../projections/read-models/contacts.js'
import { anyProjection } from '../../../projections/projection.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'
import { accountId, at, contactId, details, engagementId, leadId, phone, sourceId } from '../../kit/domain/samples.js'

const contactsAfter = (...events: ReadonlyArray<DomainEvent>) =>
  project(anyProjection(contacts), logOf(...events.map((event) => [`contact-${contactId()}`, event] as const)))

const referral = { marketing_source_id: sourceId(), marketing_source_title: 'Search ads', lead_id: leadId() }

const created: DomainEvent = {
  type: 'ContactCreated',
  data: {
    contact_id: contactId(),
    account_id: accountId(),
    details: details({ additional_info: { gender: 'Female' } }),
    referral,
  },
}

const shown = {
  id: contactId(),
  first_name: 'Ada',
  last_name: 'Example',
  email: 'ada@example.com',
  phone: phone(),
  opted_out: false,
  created_at: at(1000),
  additional_info: { gender: 'Female' },
  referral,
}

test('a contact has the fields of contract 2.1, in that order', (t) => {
  const documents = contactsAfter(created)
  t.deepEqual(documents, { [contactId()]: { account_id: accountId(), ...shown } })
  t.is(JSON.stringify(documents[contactId()]), JSON.stringify({ account_id: accountId(), ...shown }))
})

test('new details replace the old ones and leave the rest, the order of the fields too', (t) => {
  const changed = details({ first_name: 'Augusta', email: 'ada@new.example', additional_info: { zip: '94016' } })
  const documents = contactsAfter(created, {
    type: 'ContactDetailsChanged',
    data: { lead_id: leadId(2), details: changed },
  })
  const expected = {
    ...shown,
    first_name: 'Augusta',
    email: 'ada@new.example',
    additional_info: { zip: '94016' },
  }
  t.deepEqual(documents, { [contactId()]: { account_id: accountId(), ...expected } })
  t.is(JSON.stringify(documents[contactId()]), JSON.stringify({ account_id: accountId(), ...expected }))
})

test('a contact that opted out stays so when its details change', (t) => {
  const documents = contactsAfter(
    created,
    { type: 'ContactOptedOut', data: { engagement_id: engagementId() } },
    {
      type: 'ContactDetailsChanged',
      data: { lead_id: leadId(2), details: details({ additional_info: { gender: 'Female' } }) },
    },
  )
  t.deepEqual(documents, { [contactId()]: { account_id: accountId(), ...shown, opted_out: true } })
})

test('engagements and conversions change nothing that a contact shows', (t) => {
  const ids = { contact_id: contactId(), account_id: accountId(), lead_id: leadId(), source_id: sourceId() }
  const documents = contactsAfter(
    created,
    {
      type: 'ContactEngaged',
      data: {
        ...ids,
        playbook_id: 'ply_00000000000000000000000001',
        engagement_id: engagementId(),
        submitted_at: at(),
        engaged_at: at(),
        filtered: false,
      },
    },
    {
      type: 'ContactConverted',
      data: { record_id: 'ccv_00000000000000000000000001', conversion_id: 'cnv_00000000000000000000000001', ended: [] },
    },
  )
  t.deepEqual(documents, contactsAfter(created))
})

test('a change of a contact whose beginning is gone makes no contact', (t) => {
  t.deepEqual(contactsAfter({ type: 'ContactDetailsChanged', data: { lead_id: leadId(), details: details() } }), {})
})
