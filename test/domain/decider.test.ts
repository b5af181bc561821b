import test from 'ava'
import { contact } from '../../domain/contact.js'
import { conversion } from '../../domain/conversion.js'
import { conversionRecord } from '../../domain/conversion-record.js'
import { idIn, streamOf } from '../../domain/stream-name.js'
import { contactId, conversionId, recordId } from '../kit/domain/samples.js'

test('the name of a stream gives the id back, to the decider of its category and to no other', (t) => {
  const streams = [
    [conversion, conversionId()],
    [conversionRecord, recordId()],
    [contact, contactId()],
  ] as const
  for (const [decider, id] of streams) {
    for (const [other] of streams) t.is(idIn(other, streamOf(decider, id)), other === decider ? id : undefined)
  }
})
