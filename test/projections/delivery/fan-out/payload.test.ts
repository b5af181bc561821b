import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import type { Activity } from '../../../../domain/activity.js'
import type { Contact } from '../../../../projections/from-streams/contact.js'
import { payloadOf } from '../../../../projections/delivery/fan-out/payload.js'
import { holds } from '../../../kit/domain/property.js'
import { activity, at, contactId, engagementId, leadId, phone, sourceId } from '../../../kit/domain/samples.js'

const contact: Contact = {
  id: contactId(),
  first_name: 'Ada',
  last_name: 'Example',
  email: 'ada@example.com',
  phone: phone(),
  opted_out: false,
  created_at: at(),
  additional_info: { gender: 'Female' },
  referral: { marketing_source_id: sourceId(), marketing_source_title: 'Search ads', lead_id: leadId() },
}

const originators = [{ origin: 'Search ads', key: 'crm-1' }]

const agent = (shown: Partial<Activity>, from: typeof originators = []): unknown =>
  JSON.parse(payloadOf('agent', activity(shown), contact, from))

test('the agent format is exactly that of contract 6.2', (t) => {
  const renewed = activity({
    type: 'conversion',
    label: 'custom_conversion',
    note: 'Renewed was recorded',
    properties: { title: 'Renewed' },
    at: at(1234),
  })
  t.is(
    payloadOf('agent', renewed, contact, []),
    '{"activity":{"type":"conversion","label":"custom_conversion","next_engagement_id":"neg_00000000000000000000000001",' +
      '"play_id":null,"note":"Renewed was recorded","properties":{"title":"Renewed"},' +
      '"created_at":"2026-01-15T12:00:01.234Z","updated_at":"2026-01-15T12:00:01.234Z"},' +
      '"contact":{"id":"nct_00000000000000000000000001","first_name":"Ada","last_name":"Example",' +
      '"email":"ada@example.com","phone":"+14155550001","opted_out":false,"created_at":"2026-01-15T12:00:00.000Z",' +
      '"additional_info":{"gender":"Female"},"referral":{"marketing_source_id":"mks_00000000000000000000000001",' +
      '"marketing_source_title":"Search ads","lead_id":"led_00000000000000000000000001"}}}',
  )
})

test('without a note there is no key for it, and properties may be empty', (t) => {
  t.deepEqual(agent({ note: null }), {
    activity: {
      type: 'event',
      label: 'started',
      next_engagement_id: engagementId(),
      play_id: null,
      properties: {},
      created_at: at(),
      updated_at: at(),
    },
    contact,
  })
})

test('the agent format carries the originators of a lead that has some, and no key otherwise', (t) => {
  t.like(agent({}, originators), { lead_originators: [{ origin: 'Search ads', key: 'crm-1' }] })
  t.deepEqual(Object.keys(agent({}, []) as object), ['activity', 'contact'])
})

test('the flat format is exactly that of contract 6.3', (t) => {
  t.is(
    payloadOf('flat', activity({ type: 'outcome', label: 'qualified' }), contact, originators),
    '{"activity_type":"outcome","activity_label":"qualified","lead_originators":[{"origin":"Search ads","key":"crm-1"}]}',
  )
  t.is(
    payloadOf('flat', activity(), contact, []),
    '{"activity_type":"event","activity_label":"started","lead_originators":[]}',
  )
})

test('what was stored with NUL or half of a surrogate pair is well formed', (t) => {
  const spoilt = { ...contact, first_name: 'a\0', additional_info: { '\ud800': 'b' } }
  const { contact: shown } = JSON.parse(payloadOf('agent', activity(), spoilt, [])) as { readonly contact: unknown }
  t.deepEqual(shown, { ...contact, first_name: 'a\ufffd', additional_info: { '\ufffd': 'b' } })
})

test('properties arrive as they were recorded', (t) => {
  holds(
    t,
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (properties) => {
      const sent = agent({ properties }) as { readonly activity: { readonly properties: unknown } }
      assert.equal(JSON.stringify(sent.activity.properties), JSON.stringify(properties))
    }),
  )
})
