import test from 'ava'
import { segmentsOf } from '../../domain/message-segments.js'

const ascii = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))
const takesTwoUnits = '[\\]^{|}~'
const gsmLacks = '`'

test('a segment holds 160 characters of plain English, a new line among them', (t) => {
  for (const character of [...ascii, '\n'].filter((one) => !`${takesTwoUnits}${gsmLacks}`.includes(one))) {
    t.deepEqual(segmentsOf(character.repeat(160)), { encoding: 'GSM-7', segments: 1 }, character)
    t.deepEqual(segmentsOf(character.repeat(161)), { encoding: 'GSM-7', segments: 2 }, character)
  }
  t.deepEqual(segmentsOf('Hi Ada, this is Example Agency.\nReply STOP to opt out.'), { encoding: 'GSM-7', segments: 1 })
})

test('brackets and the like count twice, and what GSM-7 lacks makes a segment shorter', (t) => {
  for (const character of takesTwoUnits) {
    t.deepEqual(segmentsOf(character.repeat(80)), { encoding: 'GSM-7', segments: 1 }, character)
    t.deepEqual(segmentsOf(character.repeat(81)), { encoding: 'GSM-7', segments: 2 }, character)
  }
  t.deepEqual(segmentsOf(gsmLacks.repeat(70)), { encoding: 'UCS-2', segments: 1 })
  t.deepEqual(segmentsOf(gsmLacks.repeat(71)), { encoding: 'UCS-2', segments: 2 })
})
