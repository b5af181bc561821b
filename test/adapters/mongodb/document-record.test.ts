import test from 'ava'
import { decodeWalkedEntry, encodeChange } from '../../../adapters/mongodb/document-record.js'
import { storeFailure } from '../../../adapters/mongodb/failure.js'
import { positionAt } from '../../kit/domain/samples.js'

const bytesHeld = 16 * 1024 * 1024

const encoded = (text: string): unknown =>
  encodeChange({ key: 'k', position: positionAt(1), document: { text } }, -1, ['rank'])

test('a document larger than MongoDB holds is never sent, and nothing of it is told', (t) => {
  t.notThrows(() => encoded('x'.repeat(bytesHeld - 100_000)))
  // By its bytes: each of these letters has two.
  for (const text of ['x'.repeat(bytesHeld), 'é'.repeat(bytesHeld / 2), 'x'.repeat(2 * bytesHeld)]) {
    const error = t.throws(() => encoded(text))
    t.deepEqual(storeFailure(error), { kind: 'corrupt', reason: 'a document is larger than MongoDB holds' })
  }
})

test('a walk through all documents gives one that holds no JSON as one that can not be read', (t) => {
  const change = { position: positionAt(1), turn: -1 }
  t.deepEqual(decodeWalkedEntry({ _id: 'k', change: { ...change, body: '{' } }), { key: 'k', document: undefined })
  t.deepEqual(decodeWalkedEntry({ _id: 'k', change: { ...change, body: '{}' } }), { key: 'k', document: {} })
})
