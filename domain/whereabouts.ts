import type { Phone } from './phone.js'
import type { ResidenceState } from './residence-state.js'
import { continentalZones, usPlaces, type TimeZone } from './us-places.js'

/** Where a contact may be. */
export type Whereabouts = {
  /** At least one. */
  readonly zones: ReadonlyArray<TimeZone>
  /** None where nothing is known. */
  readonly states: ReadonlyArray<ResidenceState>
}

type Known = {
  /** As the contact wrote it. */
  readonly zip: string | undefined
  readonly state: ResidenceState | undefined
  readonly phone: Phone | undefined
}

type Place = (typeof usPlaces)[number]

const byZip = new Map(usPlaces.flatMap((place) => place.zips.map((zip) => [zip, place])))
const byAreaCode = new Map(usPlaces.flatMap((place) => place.areaCodes.map((areaCode) => [areaCode, place])))

const placeOfZip = (text: string): Place | undefined => {
  const zip = /^(\d{5})(?:[- ]?\d{4})?$/.exec(text.trim())?.[1]
  return zip === undefined ? undefined : (byZip.get(zip) ?? byZip.get(zip.slice(0, 3)))
}

const placesOfHome = ({ zip, state }: Known): ReadonlyArray<Place> => {
  const place = placeOfZip(zip ?? '')
  return place === undefined ? usPlaces.filter((one) => one.state === state) : [place]
}

const placesOfNumber = (phone: Phone | undefined): ReadonlyArray<Place> => {
  const place = phone?.startsWith('+1') === true ? byAreaCode.get(phone.slice(2, 5)) : undefined
  return place === undefined ? [] : [place]
}

/**
 * The home, by its ZIP code, else its state, and the area of the number, which may be old: people move and take their
 * numbers with them. Where neither tells anything, the whole continental US.
 */
export const whereaboutsOf = (known: Known): Whereabouts => {
  const places = [...placesOfHome(known), ...placesOfNumber(known.phone)]
  if (places.length === 0) return { zones: continentalZones, states: [] }
  return {
    zones: [...new Set(places.flatMap(({ zones }) => zones))],
    states: [...new Set(places.map(({ state }) => state))],
  }
}
