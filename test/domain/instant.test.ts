import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { decode } from '../../domain/codec.js'
import {
  Instant,
  InstantFromText,
  instantFromText,
  instantOf,
  isRealDate,
  later,
  millisecondsOf,
  strictlyAfter,
} from '../../domain/instant.js'
import { E } from '../../domain/prelude.js'
import { holds } from '../kit/domain/property.js'
import { at } from '../kit/domain/samples.js'

const milliseconds = fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9999, 0, 1) })

test('an instant in its own text is itself', (t) => {
  holds(
    t,
    fc.property(milliseconds, (ms) => assert.equal(instantFromText(instantOf(ms)), instantOf(ms))),
  )
})

test('text order is time order', (t) => {
  holds(
    t,
    fc.property(milliseconds, milliseconds, (one, other) =>
      assert.equal(instantOf(one) < instantOf(other), one < other),
    ),
  )
})

test('an offset is taken into account, in every notation', (t) => {
  const offset = fc.integer({ min: -23 * 60, max: 23 * 60 })
  const two = (n: number): string => n.toString().padStart(2, '0')
  holds(
    t,
    fc.property(milliseconds, offset, (ms, minutes) => {
      const local = instantOf(ms + minutes * 60_000).slice(0, -1)
      const sign = minutes < 0 ? '-' : '+'
      const [hours, rest] = [two(Math.trunc(Math.abs(minutes) / 60)), two(Math.abs(minutes) % 60)]
      assert.equal(instantFromText(`${local}${sign}${hours}:${rest}`), instantOf(ms))
      assert.equal(instantFromText(`${local}${sign}${hours}${rest}`), instantOf(ms))
    }),
  )
})

test('every form of ISO 8601 that a client sends is read as UTC with milliseconds', (t) => {
  const forms = {
    '2026-02-28': '2026-02-28T00:00:00.000Z',
    '2026-02-28T10:30': '2026-02-28T10:30:00.000Z',
    '2026-02-28T10:30Z': '2026-02-28T10:30:00.000Z',
    '2026-02-28T10:30:15': '2026-02-28T10:30:15.000Z',
    '2026-02-28 10:30:15Z': '2026-02-28T10:30:15.000Z',
    '2026-02-28t10:30:15z': '2026-02-28T10:30:15.000Z',
    '2026-02-28T10:30:15.5Z': '2026-02-28T10:30:15.500Z',
    '2026-02-28T10:30:15,25Z': '2026-02-28T10:30:15.250Z',
    '2026-02-28T10:30:15.123456789Z': '2026-02-28T10:30:15.123Z',
    '2026-02-28T23:30:00-05:00': '2026-03-01T04:30:00.000Z',
    '2026-02-28T23:30:00-0500': '2026-03-01T04:30:00.000Z',
    '2026-02-28T23:30:00-05': '2026-03-01T04:30:00.000Z',
    '2026-03-01T01:00:00+05:30': '2026-02-28T19:30:00.000Z',
    '2024-02-29T00:00:00Z': '2024-02-29T00:00:00.000Z',
  }
  for (const [text, instant] of Object.entries(forms)) t.is(instantFromText(text), instant as Instant, text)
})

test('what names no point in time is refused and never rolled over', (t) => {
  const texts = [
    '2026-02-30',
    '2026-02-30T10:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-04-31T10:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T10:00:00+24:00',
    '2026-01-01T10:00:00+05:60',
    '2026-01-01T10',
    '2026-01-01Z',
    '2026-1-1',
    '20260101T000000Z',
    '01/02/2026',
    'Thu, 01 Jan 2026 00:00:00 GMT',
    '1767225600000',
    '1',
    '',
    'now',
    '2026-01-01T00:00:00Z\n',
  ]
  for (const text of texts) t.is(instantFromText(text), undefined, text)
})

test('whatever is read can be stored', (t) => {
  const texts = ['9999-12-31T23:59:59-01:00', '0000-01-01T00:00:00+01:00', '2026-02-28T23:30:00-05:00']
  for (const text of texts) {
    const instant = instantFromText(text)
    t.true(instant === undefined || Instant.is(instant), text)
  }
})

test('no text makes the reader throw', (t) => {
  const parts = fc.constantFrom('2026', '-', '02', '30', 'T', ':', '10', '.', 'Z', '+', '05', ' ', '99')
  holds(
    t,
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(parts).map((all) => all.join('')),
      ),
      (text) => {
        const instant = instantFromText(text)
        assert.ok(instant === undefined || instantOf(millisecondsOf(instant)) === instant)
      },
    ),
    { numRuns: 1000 },
  )
})

test('a stored instant has milliseconds and Z', (t) => {
  t.true(Instant.is('2026-02-28T10:30:15.000Z'))
  for (const other of ['2026-02-28T10:30:15Z', '2026-02-28', '2026-02-30T00:00:00.000Z', 0, null, undefined]) {
    t.false(Instant.is(other))
  }
})

test('what is a stored instant is what the clock would write', (t) => {
  const nearInstant = fc
    .tuple(fc.nat(13), fc.nat(32), fc.nat(25), fc.nat(60))
    .map(
      ([month, day, hour, minute]) =>
        `2028-${twoDigits(month)}-${twoDigits(day)}T${twoDigits(hour)}:${twoDigits(minute)}:07.000Z`,
    )
  const instant = fc.integer({ min: -62_200_000_000_000, max: 253_402_400_000_000 }).map(instantOf)
  const any = fc.array(fc.constantFrom('0', '1', '9', '-', 'T', ':', '.', 'Z'), { minLength: 24, maxLength: 24 })
  holds(
    t,
    fc.property(
      fc.oneof(
        nearInstant,
        instant,
        any.map((letters) => letters.join('')),
      ),
      (text) => {
        const parsed = Date.parse(text)
        const isWritten = text.length === 24 && !Number.isNaN(parsed) && instantOf(parsed) === text
        assert.equal(Instant.is(text), isWritten)
      },
    ),
    { numRuns: 2_000 },
  )
})

const twoDigits = (number: number): string => String(number).padStart(2, '0')

test('a client may surround a timestamp with white space, but send nothing other than text', (t) => {
  t.deepEqual(decode(InstantFromText, ' 2026-02-28T10:30:15Z '), E.right(instantOf(Date.UTC(2026, 1, 28, 10, 30, 15))))
  for (const value of [1767225600000, null, {}, '30 February']) t.true(E.isLeft(decode(InstantFromText, value)))
})

test('a date stands in the calendar or it does not', (t) => {
  for (const date of ['2024-02-29', '2000-02-29', '2026-12-31', '1900-01-01']) t.true(isRealDate(date), date)
  for (const date of ['2026-02-29', '1900-02-29', '2026-06-31', '2026-12-32', '2026-2-1', '26-02-01', '']) {
    t.false(isRealDate(date), date)
  }
})

test('a clock that has not moved gives a millisecond more', (t) => {
  t.is(strictlyAfter(undefined, at(5)), at(5))
  t.is(strictlyAfter(at(4), at(5)), at(5))
  t.is(strictlyAfter(at(5), at(5)), at(6))
  t.is(strictlyAfter(at(900), at(5)), at(901))
  t.is(later(at(5), 1000), at(1005))
  const last = '9999-12-31T23:59:59.999Z' as Instant
  t.is(later(last, 3_600_000), last, 'a year has four digits')
})
