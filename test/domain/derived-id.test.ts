import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import {
  contactIdOf,
  deliveryIdOf,
  derivedEventId,
  erasureIdOf,
  leadIdOf,
  noticeIdOf,
  recordIdOf,
  submissionKeyIdOf,
  type AccountSecret,
} from '../../domain/derived-id.js'
import { ContactId, DeliveryId, LeadId, NoticeId, RecordId, SubmissionKeyId, Uuid } from '../../domain/ids.js'
import { codePoint } from '../kit/domain/code-point.js'
import { holds } from '../kit/domain/property.js'
import { contactId, conversionId, memberId, phone, sourceId, uuid, webhookId } from '../kit/domain/samples.js'

const secretOf = (byte: number): AccountSecret => Buffer.alloc(32, byte) as AccountSecret
const secret = secretOf(7)
const anyPhone = fc.integer({ min: 0, max: 9999 }).map(phone)

const allWith = (key: AccountSecret, text: string, event: string): ReadonlyArray<string> => [
  contactIdOf(key, phone()),
  leadIdOf(key, sourceId(), text, phone()),
  submissionKeyIdOf(key, sourceId(), text),
  recordIdOf(conversionId(), contactId()),
  deliveryIdOf(webhookId(), event),
  derivedEventId(event, text, 0),
  noticeIdOf(event, memberId()),
]

test('the derivation never changes, because stored ids were made by it', (t) => {
  t.deepEqual(allWith(secret, 'crm-1', uuid()), [
    'nct_1RRC6A4VD50S2GS83HFWAEYWF4',
    'led_56BZFBD7NFBMK66DPYEX4779RD',
    'sub_7H0RKSQEA3KK0WE5Q0MT5HES39',
    'ccv_2M3YX6QCFJ1HRYVK3AC2VY18M4',
    'dlv_3P6W93C4WNTSBE25XP6AHJZ0SE',
    '9460572b-7909-52b4-b5dd-40d27ef912e0',
    'ntc_7SD2HJTY4GH31ZT1ZK54K3YB9G',
  ])
})

test('a number that comes back after an erasure gets other ids, the same each time', (t) => {
  const after = erasureIdOf(contactId())
  t.is(after, 'ers_73EDWFV8GA478X26QR89Y0SGK8')
  t.is(contactIdOf(secret, phone(), after), 'nct_06215TWHYQXR422HFMD9S3SZSC')
  t.is(leadIdOf(secret, sourceId(), 'crm-1', phone(), after), 'led_28NR5DE37MASMWS2DDEYRVNF4B')
})

test('an id depends on nothing but its parts', (t) => {
  holds(
    t,
    fc.property(fc.string(), fc.uuid({ version: 4 }), (text, event) => {
      assert.deepEqual(allWith(secret, text, event), allWith(secretOf(7), text, event))
    }),
  )
})

test('every id has the shape that its codec asks for', (t) => {
  const shape = (text: string, event: string, byte: number): ReadonlyArray<boolean> => {
    const [contact, lead, key, record, delivery, derived, notice] = allWith(secretOf(byte), text, event)
    return [
      ContactId.is(contact),
      LeadId.is(lead),
      SubmissionKeyId.is(key),
      RecordId.is(record),
      DeliveryId.is(delivery),
      Uuid.is(derived),
      NoticeId.is(notice),
    ]
  }
  holds(
    t,
    fc.property(fc.string({ unit: codePoint }), fc.uuid({ version: 4 }), fc.nat(255), (text, event, byte) => {
      assert.deepEqual(shape(text, event, byte), [true, true, true, true, true, true, true])
    }),
  )
})

test('a record id carries neither the prefix of its contact nor that of its conversion', (t) => {
  t.notRegex(recordIdOf(conversionId(), contactId()), /nct_|cnv_/)
})

test('the secret of another account gives other ids', (t) => {
  t.not(contactIdOf(secret, phone()), contactIdOf(secretOf(8), phone()))
  t.not(leadIdOf(secret, sourceId(), 'a', phone()), leadIdOf(secretOf(8), sourceId(), 'a', phone()))
  t.not(submissionKeyIdOf(secret, sourceId(), 'a'), submissionKeyIdOf(secretOf(8), sourceId(), 'a'))
})

test('ids from different parts differ', (t) => {
  const ids = [
    leadIdOf(secret, sourceId(1), 'a', phone(1)),
    leadIdOf(secret, sourceId(2), 'a', phone(1)),
    leadIdOf(secret, sourceId(1), 'b', phone(1)),
    leadIdOf(secret, sourceId(1), 'a', phone(2)),
  ]
  t.is(new Set(ids).size, ids.length)
  const events = [derivedEventId(uuid(1), 'a', 0), derivedEventId(uuid(2), 'a', 0), derivedEventId(uuid(1), 'b', 0)]
  t.is(new Set([...events, derivedEventId(uuid(1), 'a', 1)]).size, 4)
})

test('text that moves across the boundary of two parts gives another id', (t) => {
  const source = sourceId()
  holds(
    t,
    fc.property(fc.string({ minLength: 1 }), anyPhone, (text, number) => {
      const moved = leadIdOf(secret, source, `${text}${number.slice(0, 2)}`, number.slice(2) as typeof number)
      assert.notEqual(leadIdOf(secret, source, text, number), moved)
    }),
  )
})

test('an id of one kind is never that of another from the same parts', (t) => {
  const bodies = allWith(secret, 'crm-1', uuid()).map((id) => id.slice(4))
  t.is(new Set(bodies).size, bodies.length)
})
