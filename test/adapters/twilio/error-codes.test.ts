import test from 'ava'
import { failureOf, refusalOf } from '../../../adapters/twilio/error-codes.js'

const codes = {
  'opted-out': [21610],
  undeliverable: [21211, 21614, 30005, 30006],
  unreached: [30001, 30003, 30008],
  failed: [30036],
  'sender-blocked': [30007, 30034, 21606, 20003, 30002, 20404],
  refused: [21617, 30004, 99999],
}

test('an error code means the same in an answer and in a status callback', (t) => {
  for (const [kind, ofKind] of Object.entries(codes)) {
    for (const code of ofKind) {
      const kinds = [failureOf(code).kind, refusalOf(400, code, undefined).kind]
      t.deepEqual(kinds, [kind, kind], String(code))
      t.regex(failureOf(code).reason, new RegExp(`^[a-z][A-Za-z ]+ \\(Twilio ${code}\\)$`))
    }
  }
  t.deepEqual(failureOf(undefined), { kind: 'refused', reason: 'not delivered' })
})

test('where a code says nothing the status decides', (t) => {
  const kindOf = (status: number) => refusalOf(status, undefined, undefined).kind
  t.deepEqual([429, 500, 502, 503, 504].map(kindOf), ['failed', 'failed', 'failed', 'failed', 'failed'])
  t.deepEqual([401, 403, 302].map(kindOf), ['sender-blocked', 'sender-blocked', 'sender-blocked'])
  t.deepEqual([400, 405, 422].map(kindOf), ['refused', 'refused', 'refused'])
})
