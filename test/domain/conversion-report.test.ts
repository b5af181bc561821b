import test from 'ava'
import { recordFrom, type ConversionReport } from '../../domain/conversion-report.js'
import { recordIdOf } from '../../domain/derived-id.js'
import { E } from '../../domain/prelude.js'
import { rightOf } from '../kit/right-of.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  details,
  engagementId,
  leadId,
  sourceId,
} from '../kit/domain/samples.js'

const conversion = {
  kind: 'defined',
  id: conversionId(),
  accountId: accountId(),
  title: 'Sold',
  value: 4900,
  label: 'sold',
} as const

/** A contact of three leads, whose first conversation a conversion has ended. */
const contact = {
  kind: 'known',
  id: contactId(),
  accountId: accountId(),
  optedOut: false,
  details: details(),
  byAge: [],
  newest: { leadId: leadId(3), submittedAt: at(), sourceId: sourceId(3), engagementId: engagementId(3) },
  leads: [],
  unrememberedUntil: undefined,
  lastEngagedAt: at(),
  unconverted: [engagementId(2), engagementId(3)],
  records: [],
} as const

const report = (sent: Partial<ConversionReport> = {}): ConversionReport => ({
  conversion,
  contact,
  convertedAt: undefined,
  value: undefined,
  keepsEngagementsOpen: undefined,
  ...sent,
})

const recorded = (sent: Partial<ConversionReport> = {}) => rightOf(recordFrom(report(sent), at(5)))

test('a record belongs to the newest conversation of the contact, and to its lead and source', (t) => {
  t.deepEqual(recorded(), {
    record_id: recordIdOf(conversionId(), contactId()),
    account_id: accountId(),
    conversion_id: conversionId(),
    title: 'Sold',
    label: 'sold',
    contact_id: contactId(),
    converted_at: at(5),
    value: 4900,
    engagement_id: engagementId(3),
    lead_id: leadId(3),
    source_id: sourceId(3),
    ends: [engagementId(2), engagementId(3)],
  })
})

test('time and value count as they were sent, else as the time of the request and the value of the conversion', (t) => {
  const { converted_at, value } = recorded({ convertedAt: at(1), value: 0 })
  t.deepEqual({ converted_at, value }, { converted_at: at(1), value: 0 })
})

test('every conversation that no conversion has ended is ended, or none where they are to be kept open', (t) => {
  t.deepEqual(recorded({ keepsEngagementsOpen: false }).ends, [engagementId(2), engagementId(3)])
  t.deepEqual(recorded({ keepsEngagementsOpen: true }).ends, [])
})

test('a record names a hundred engagements at most, the newest', (t) => {
  const unconverted = Array.from({ length: 35_000 }, (_, n) => engagementId(n))
  t.deepEqual(recorded({ contact: { ...contact, unconverted } }).ends, unconverted.slice(-100))
})

test('a negative value is refused', (t) => {
  t.deepEqual(recordFrom(report({ value: -1 }), at()), E.left({ kind: 'value-negative' } as const))
})

test('a contact without a conversation is not found', (t) => {
  const unengaged = { ...contact, newest: undefined, unconverted: [] }
  t.deepEqual(recordFrom(report({ contact: unengaged }), at()), E.left({ kind: 'contact-not-found' } as const))
})
