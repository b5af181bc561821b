import test from 'ava'
import fc from 'fast-check'
import { parsePhoneNumberFromString } from 'libphonenumber-js'
import assert from 'node:assert/strict'
import { Phone, phoneFromForm, phoneFromText } from '../../domain/phone.js'
import { holds } from '../kit/domain/property.js'

test('a US number is read in every common format', (t) => {
  const formats = [
    '4155550123',
    '14155550123',
    '+14155550123',
    '+1 415 555 0123',
    ' 1 415 555 0123',
    '(415) 555-0123',
    '415-555-0123',
    '415.555.0123',
    '415/555/0123',
    '1-415-555-0123',
    '  (415)555 0123  ',
    'tel:+1-415-555-0123',
    '(415) 555-0123 ext. 7',
  ]
  for (const text of formats) t.is(phoneFromText(text), '+14155550123', text)
})

test('a number with its country keeps it', (t) => {
  t.is(phoneFromText('+44 20 7946 0123'), '+442079460123')
  t.is(phoneFromText('+49 (30) 901820'), '+4930901820')
})

test('a bare plus of a form is a blank, and counts where there is no number without it', (t) => {
  t.is(phoneFromForm(' 442079460123'), '+442079460123')
  t.is(phoneFromForm(' 44 20 7946 0123 '), '+442079460123')
  t.is(phoneFromForm('442079460123'), undefined)
  t.is(phoneFromForm(' 4155550123'), '+14155550123')
  for (const none of ['', ' ', ' none', ' 491-2345', ' +442079460123456789']) t.is(phoneFromForm(none), undefined, none)
})

test('a text without a possible number is none', (t) => {
  const texts = ['', ' ', '+', 'none', '911', '415555', '41555501234567', '+999 4155550123', '555-0123', '٤١٥']
  for (const text of texts) t.is(phoneFromText(text), undefined, text)
})

test('a number of more digits than E.164 has is none', (t) => {
  // In some countries one may have 17.
  t.is(phoneFromText('+49 30 12345678901'), '+493012345678901')
  t.is(phoneFromText('+49 30 123456789012'), undefined)
})

test('a number whose country stands apart is none, however often it is read', (t) => {
  for (const context of ['+1', '+44', 'example', 'example.com']) {
    const text = `tel:415-555-0123;phone-context=${context}`
    for (const time of ['first', 'second', 'third']) t.is(phoneFromText(text), undefined, `${text}, ${time}`)
  }
})

test('ten digits mean the same number however they are written', (t) => {
  const digit = (min: number) => fc.integer({ min, max: 9 })
  const areaCode = fc.tuple(digit(2), digit(0), digit(0)).map((digits) => digits.join(''))
  const rest = fc.tuple(digit(0), digit(0), digit(0), digit(0)).map((digits) => digits.join(''))
  holds(
    t,
    fc.property(areaCode, areaCode, rest, (area, exchange, line) => {
      const written = phoneFromText(`(${area}) ${exchange}-${line}`)
      assert.equal(written, `+1${area}${exchange}${line}`)
      assert.equal(phoneFromText(`${area}${exchange}${line}`), written)
      assert.equal(phoneFromText(`+1 ${area}.${exchange}.${line}`), written)
    }),
  )
})

test('the usual spellings are read as the library reads them', (t) => {
  const usual = fc.stringMatching(/^\s?(\+?1[-. ]?)?\(?[0-9]\d{2}\)?[-. ]?[0-9]\d{2}[-. ]?\d{4}\s?$/)
  holds(
    t,
    fc.property(usual, (text) => {
      const read = parsePhoneNumberFromString(text, 'US')
      assert.equal(phoneFromText(text), read?.isPossible() === true ? read.number : undefined)
    }),
    { numRuns: 2000 },
  )
})

test('whatever a text gives is E.164, and read again gives itself', (t) => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^\+?[0-9 ().-]{7,20}$/))
  holds(
    t,
    fc.property(text, (written) => {
      const phone = phoneFromText(written)
      if (phone === undefined) return
      assert.ok(Phone.is(phone))
      assert.equal(phoneFromText(phone), phone)
    }),
    { numRuns: 1000 },
  )
})

test('only E.164 is stored', (t) => {
  t.true(Phone.is('+14155550123'))
  for (const other of ['4155550123', '+04155550123', '+1 4155550123', '+1', '', 14155550123, null]) {
    t.false(Phone.is(other))
  }
})
