import test from 'ava'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import assert from 'node:assert/strict'
import {
  decodeEntry,
  decodeStored,
  decodeWalkedEntry,
  encodeChange,
  type DocumentRecord,
} from '../../../adapters/mongodb/records/document-record.js'
import { storeFailure } from '../../../adapters/mongodb/failure.js'
import { instantOf } from '../../../domain/instant.js'
import type { Json } from '../../../projections/ports.js'
import { codePoint } from '../../kit/domain/code-point.js'
import { holds } from '../../kit/domain/property.js'
import { positionAt } from '../../kit/domain/samples.js'

const bytesHeld = 16 * 1024 * 1024

const collection = { namedByOthers: ['properties'] }

const encoded = (document: Json): DocumentRecord =>
  encodeChange({ key: 'k', position: positionAt(1), document }, 3, collection)

/** As the driver gives it back. */
const stored = (record: DocumentRecord): DocumentRecord =>
  BSON.deserialize(BSON.serialize(record), { useBigInt64: true }) as DocumentRecord

const readBack = (document: Json): unknown => decodeEntry(stored(encoded(document)), collection).document

test('a document stands under its own names, with its times as dates and what others named as a list', (t) => {
  const document = {
    phone: '+14155550123',
    created_at: '2026-01-14T09:30:00.000Z',
    attempts: 2,
    last: { status: null, at: '0001-01-01T00:00:00.000Z', tags: ['a', 1, false] },
    properties: { 'a.b': 'x', $c: 7, '': { when: '2026-01-14T09:30:00.000Z' }, zip: '2026-01-14T09:30:00.000Z' },
  }
  t.deepEqual(stored(encoded(document)), {
    _id: 'k',
    _position: 1n,
    _generation: 3,
    phone: '+14155550123',
    created_at: new Date('2026-01-14T09:30:00.000Z'),
    attempts: 2,
    last: { status: null, at: new Date('0001-01-01T00:00:00.000Z'), tags: ['a', 1, false] },
    properties: [
      { name: 'a.b', value: 'x' },
      { name: '$c', value: 7 },
      { name: '', value: { when: new Date('2026-01-14T09:30:00.000Z') } },
      { name: 'zip', value: '2026-01-14T09:30:00.000Z' },
    ],
  })
})

test('a document that was removed keeps nothing but its position', (t) => {
  const record = encodeChange({ key: 'k', position: positionAt(2n ** 40n), document: undefined }, 3, collection)
  t.deepEqual(record, { _id: 'k', _position: 2n ** 40n, _generation: 3, _removed: true })
  t.deepEqual(decodeStored(stored(record), collection), { document: undefined, position: positionAt(2n ** 40n) })
})

test('what BSON cannot hold stands as its JSON text, in the smallest part that has to', (t) => {
  const half = '\ud800'
  const deep = (levels: number): unknown => (levels === 0 ? 'end' : [deep(levels - 1)])
  const documents = [
    { first: { 'a.b': 1 }, second: { c: half }, third: 'x' },
    { $a: 1, _id: 2, 'b.c': 3, _position: 4, __proto__: 5, fine: 6 },
    { text: half, properties: { [half]: half, '\0': '\0' } },
    { deep: deep(1_000) },
    { wrapped: { _json: '7' }, _json: '8' },
    { properties: ['a', { name: 'n', value: 1 }] },
    { properties: null },
    { properties: { a: { _bsontype: 'x' } }, b: [{ _bsontype: null }], c: { toBSON: 1, $ref: 'r', $id: 2 } },
  ]
  for (const document of documents) t.deepEqual(readBack(document), JSON.parse(JSON.stringify(document)))
  t.like(stored(encoded({ first: { 'a.b': 1 }, third: 'x' })), { first: { _json: '{"a.b":1}' }, third: 'x' })
})

test('whatever a read model wrote is read back as the same JSON, its fields in the same order', (t) => {
  const name = fc.oneof(
    fc.string({ unit: codePoint }),
    fc.constantFrom('_id', '_json', '_position', '_bsontype', 'toBSON', '$ref', '$id', '$set', 'a.b', '', '__proto__'),
    fc.constantFrom('name', 'value', '\ud800', '\0'),
  )
  const instant = fc.integer({ min: -62135596800000, max: 253402300799999 }).map(instantOf)
  const text = fc.oneof(
    fc.string({ unit: codePoint }),
    instant,
    instant.map((at) => at.replace('Z', '+00:00')),
    instant.map((at) => at.slice(0, 19)),
    fc.constantFrom(
      '+275760-09-13T00:00:00.000Z',
      '2026-02-30T00:00:00.000Z',
      '2026-01-01T24:00:00.000Z',
      '\udfff',
      '\0',
    ),
  )
  const number = fc.oneof(
    fc.double(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.constantFrom(-0, 2 ** 31, -(2 ** 31), 2 ** 53, 5e-324, 1.7976931348623157e308),
  )
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      number,
      fc.boolean(),
      fc.constantFrom(null, undefined),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }))
  const properties = fc.oneof(fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true }), value)
  const fields = fc.dictionary(name, value, { maxKeys: 6, noNullPrototype: true })
  holds(
    t,
    fc.property(fields, fc.option(properties, { nil: undefined }), (some, others) => {
      const document = others === undefined ? some : { ...some, properties: others }
      const written: unknown = JSON.parse(JSON.stringify(document))
      assert.deepEqual(readBack(document), written)
      const isPlain = Object.keys(document).every((field) => /^[a-z]+$/.test(field))
      if (isPlain) assert.equal(JSON.stringify(readBack(document)), JSON.stringify(document))
    }),
    { numRuns: 2_000 },
  )
})

test('a document larger than MongoDB holds is never sent, and nothing of it is told', (t) => {
  t.notThrows(() => encoded({ text: 'x'.repeat(bytesHeld - 100_000) }))
  // By its bytes: each of these letters has two.
  for (const text of ['x'.repeat(bytesHeld), 'é'.repeat(bytesHeld / 2), 'x'.repeat(2 * bytesHeld)]) {
    const error = t.throws(() => encoded({ text }))
    t.deepEqual(storeFailure(error), { kind: 'corrupt', reason: 'a document is larger than MongoDB holds' })
  }
  // By what BSON adds to each field.
  const many = Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`n${n}`, 'x'.repeat(20)]))
  t.notThrows(() => void encoded({ many }))
  t.throws(() => void encoded({ properties: many }))
})

test('a walk through all documents gives one that holds no JSON as one that can not be read', (t) => {
  const walked = (others: string) => decodeWalkedEntry({ ...encoded({}), _json: others }, collection)
  t.deepEqual(walked('{'), { key: 'k', document: undefined })
  t.deepEqual(walked('{}'), { key: 'k', document: {} })
})
