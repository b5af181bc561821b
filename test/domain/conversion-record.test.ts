import test from 'ava'
import {
  conversionRecord,
  type ConversionRecordEvent,
  type ConversionRecordFacts,
} from '../../domain/conversion-record.js'
import { fold } from '../../domain/decider.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  engagementId,
  leadId,
  recordId,
  sourceId,
} from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const facts: ConversionRecordFacts = {
  record_id: recordId(),
  account_id: accountId(),
  conversion_id: conversionId(),
  title: 'Sold',
  label: 'sold',
  contact_id: contactId(),
  converted_at: at(),
  value: 125_000,
  engagement_id: engagementId(),
  lead_id: leadId(),
  source_id: sourceId(),
  ends: [engagementId()],
}

const recorded: ConversionRecordEvent = { type: 'ConversionRecorded', data: facts }

test('a conversion is recorded with all that was decided', (t) => {
  given(t, conversionRecord).when({ type: 'RecordConversion', facts }).then(recorded)
})

test('recording a conversion again with another value leaves the original record', (t) => {
  const again = { type: 'RecordConversion', facts: { ...facts, value: 1, converted_at: at(1000) } } as const
  given(t, conversionRecord, recorded).when(again).isAlreadySo()
  t.deepEqual(fold(conversionRecord, conversionRecord.initial, [recorded]), { kind: 'recorded', facts })
})
