import { parsePhoneNumberFromString } from 'libphonenumber-js'
import { refined } from './codec.js'

/** A phone number in E.164 format (`+14155550123`). */
export type Phone = `+${string}`

export const Phone = refined(
  'a phone number in E.164 format',
  (value): value is Phone => typeof value === 'string' && /^\+[1-9]\d{3,14}$/.test(value),
)

/**
 * The number that a person wrote, read as a US number when it carries no country; undefined when none can be read.
 * A possible number is enough: whether it is in service, no table knows.
 */
export const phoneFromText = (text: string): Phone | undefined => {
  const parsed = parsePhoneNumberFromString(text, 'US')
  return parsed?.isPossible() === true && Phone.is(parsed.number) ? parsed.number : undefined
}
