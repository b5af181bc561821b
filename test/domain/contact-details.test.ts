import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { bytesOf, fieldsByAge, largestDetails, merged } from '../../domain/contact-details.js'
import { codePoint } from '../kit/domain/code-point.js'
import { holds } from '../kit/domain/property.js'
import { details } from '../kit/domain/samples.js'

const withFields = (additional_info: Readonly<Record<string, string>>) => details({ additional_info })

const fieldsOf = (count: number, value: string, from = 0): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`field ${from + n}`, value]))

/** The contact after so many leads. */
const afterLeads = (...leads: ReadonlyArray<Readonly<Record<string, string>>>) => {
  let kept = withFields({})
  let byAge: ReadonlyArray<string> = []
  for (const sent of leads) {
    const now = merged(kept, byAge, withFields(sent))
    byAge = fieldsByAge(byAge, kept.additional_info, now.additional_info)
    kept = now
  }
  return { ...kept, byAge }
}

test('a newer lead brings its values, in the places that their fields had', (t) => {
  const { additional_info, byAge } = afterLeads({ a: '1', b: '2', c: '3' }, { d: '4', a: '9', b: '2' })
  t.is(JSON.stringify(additional_info), JSON.stringify({ a: '9', b: '2', c: '3', d: '4' }))
  t.deepEqual(byAge, ['b', 'c', 'a', 'd'])
})

test('a contact keeps five hundred fields: those of the oldest leads go first', (t) => {
  const newest = { ...fieldsOf(15, 'newest', 490), 'field 0': 'again' }
  const { additional_info } = afterLeads(
    fieldsOf(400, 'old'),
    { 'field 1': 'new', ...fieldsOf(90, 'new', 400) },
    newest,
  )
  t.deepEqual(Object.keys(additional_info).slice(0, 3), ['field 0', 'field 1', 'field 7'])
  t.is(Object.keys(additional_info).length, 500)
  t.is(additional_info['field 0'], 'again')
})

test('a contact keeps 64 kB, counted as UTF-8: those of the oldest leads go first', (t) => {
  const { additional_info } = afterLeads(
    ...Array.from({ length: 40 }, (_, n) => ({ [`field ${n}`]: '\u20ac'.repeat(3_000) })),
  )
  t.deepEqual(
    Object.keys(additional_info),
    Array.from({ length: 7 }, (_, n) => `field ${33 + n}`),
  )
})

test('whatever leads come, a contact stays within its bounds and has all of the newest lead', (t) => {
  // Long values are a few characters again and again: as long as those of vendors, and made a hundred times faster.
  const value = fc
    .tuple(fc.string({ unit: codePoint, maxLength: 10 }), fc.nat(200))
    .map(([text, times]) => text.repeat(times))
  const fields = fc
    .dictionary(fc.string({ unit: codePoint, maxLength: 20 }), value, { maxKeys: 40, size: 'max' })
    .filter((sent) => bytesOf(sent) < largestDetails.bytes - 100)
  holds(
    t,
    fc.property(fc.array(fields, { minLength: 1, maxLength: 8 }), (leads) => {
      const { additional_info, byAge, ...own } = afterLeads(...leads)
      assert.ok(byAge.length <= largestDetails.fields)
      assert.ok(bytesOf(additional_info) + bytesOf(own) <= largestDetails.bytes)
      assert.deepEqual([...byAge].sort(), Object.keys(additional_info).sort())
      for (const [name, value] of Object.entries(leads.at(-1) ?? {})) assert.equal(additional_info[name], value)
    }),
    { numRuns: 50 },
  )
})
