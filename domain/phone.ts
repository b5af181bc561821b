import { parsePhoneNumberFromString } from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'
import { refined } from './codec.js'

/** A phone number in E.164 format (`+14155550123`). */
export type Phone = `+${string}`

export const Phone = refined(
  'a phone number in E.164 format',
  (value): value is Phone => typeof value === 'string' && /^\+[1-9]\d{3,14}$/.test(value),
)

/** Ten digits of the North American plan in the usual spellings: what nearly every lead and search carries. */
const northAmerican = /^(?:\+?1[-. ]?)?\(?([2-9]\d{2})\)?[-. ]?([2-9]\d{2})[-. ]?(\d{4})$/

/**
 * The number that a person wrote, read as a US number when it carries no country; undefined when none can be read.
 * A possible number is enough: whether it is in service, no table knows.
 */
export const phoneFromText = (text: string): Phone | undefined => {
  // The library takes 7 µs, most of what a search may cost. A property test holds both to the same answer.
  const usual = northAmerican.exec(text.trim())
  if (usual !== null) return `+1${usual[1] ?? ''}${usual[2] ?? ''}${usual[3] ?? ''}`
  // How the library reads a country that stands apart depends on the call before: its patterns remember their place.
  if (text.includes(';phone-context=')) return undefined
  const parsed = parsePhoneNumberFromString(text, 'US', metadata)
  return parsed?.isPossible() === true && Phone.is(parsed.number) ? parsed.number : undefined
}

/** So many digits has a number of the US without its area code, which is none. */
const localDigits = 7

/**
 * The same for what a form or a query holds, where a bare plus arrives as a blank. Before a number without its area
 * code it is taken for the blank that it may be as well.
 */
export const phoneFromForm = (text: string): Phone | undefined => {
  const trimmed = text.trim()
  const mayBePlus = text.startsWith(' ') && trimmed.replace(/\D/g, '').length > localDigits
  return phoneFromText(trimmed) ?? (mayBePlus ? phoneFromText(`+${trimmed}`) : undefined)
}
