import type { ContactId } from '../../../domain/ids.js'
import type { Phone } from '../../../domain/phone.js'
import { contactId, details } from '../domain/samples.js'
import { oneOf, type Random } from '../load/random.js'
import { places, type Place } from './places.js'

/** Somebody of whom leads are submitted. */
export type Person = {
  readonly contactId: ContactId
  /** 1 or 2: to whose account. */
  readonly account: number
  readonly place: Place
  readonly phone: Phone
}

/** The person number `n`, from 1 on. */
export const personNumber = (n: number, random: Random): Person => {
  const place = oneOf(random, places) ?? places[0]
  return { contactId: contactId(n), account: 1 + (n % 2), place, phone: `+${place.prefix.slice(1)}${2_000_000 + n}` }
}

/** What a lead says of the person. */
export const detailsOf = ({ place, phone }: Person, random: Random) =>
  details({
    phone,
    additional_info: { ...place.fields, ...(random() < 0.5 ? { current_insurance_carrier: 'Example Mutual' } : {}) },
  })
