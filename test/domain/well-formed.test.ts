import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { wellFormed } from '../../domain/well-formed.js'
import { holds } from '../kit/domain/property.js'

test('halves of surrogate pairs and NUL become U+FFFD, in texts and names, wherever they stand', (t) => {
  t.is(wellFormed('a\0b\ud800c\udc00d😀'), 'a\ufffdb\ufffdc\ufffdd😀')
  const sent: unknown = JSON.parse('{"\\u0000":{"__proto__":["\\ud800",{"a\\udfff":"\\u0000"},1,null,true]}}')
  const stored: unknown = JSON.parse('{"�":{"__proto__":["�",{"a�":"�"},1,null,true]}}')
  t.deepEqual(wellFormed(sent), stored)
  t.is(JSON.stringify(wellFormed(sent)), JSON.stringify(stored))
})

test('every other value is left as it is', (t) => {
  const unit = fc.nat(0xd7ff - 1).map((code) => String.fromCharCode(code + 1))
  const property = fc.property(fc.jsonValue({ stringUnit: unit }), (json) => {
    assert.equal(wellFormed(json), json)
  })
  holds(t, property)
})
