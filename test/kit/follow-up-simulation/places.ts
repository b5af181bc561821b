import { wallClock } from '../time/wall-clock.js'

/** When texts may arrive on a day: from and to in hours; null where none may. */
type Hours = readonly [from: number, to: number] | null

type Rule = { readonly weekdays: Hours; readonly saturday: Hours; readonly sunday: Hours }

/**
 * Where a contact is, as it says and as its number says; and by hand, apart from the tables of the service, what that
 * means.
 */
export type Place = {
  readonly fields: Readonly<Record<string, string>>
  /** `+`, country and area. */
  readonly prefix: string
  readonly zones: ReadonlyArray<string>
  readonly rules: ReadonlyArray<Rule>
  /** Messages in 24 hours at most. */
  readonly mostInDay: number
}

const daily = (from: number, to: number): Rule => ({ weekdays: [from, to], saturday: [from, to], sunday: [from, to] })

const place = (
  fields: Readonly<Record<string, string>>,
  prefix: string,
  zones: ReadonlyArray<string>,
  rules: ReadonlyArray<Rule> = [],
  mostInDay = Infinity,
): Place => ({ fields, prefix, zones, rules, mostInDay })

const home = (zip: string, state: string): Readonly<Record<string, string>> => ({
  current_residence_zip: zip,
  current_residence_state: state,
})

export const places: readonly [Place, ...ReadonlyArray<Place>] = [
  place(home('94105', 'CA'), '+1415', ['America/Los_Angeles']),
  place(home('10001', 'NY'), '+1212', ['America/New_York']),
  place(home('33101', 'FL'), '+1305', ['America/New_York'], [daily(8, 20)], 3),
  place(home('21201', 'MD'), '+1410', ['America/New_York'], [daily(8, 20)], 3),
  place(home('75201', 'TX'), '+1214', ['America/Chicago'], [{ ...daily(9, 21), sunday: [12, 21] }]),
  place(home('84101', 'UT'), '+1801', ['America/Denver'], [{ ...daily(8, 21), sunday: null }]),
  place(home('02903', 'RI'), '+1401', ['America/New_York'], [{ weekdays: [9, 18], saturday: [10, 17], sunday: null }]),
  place(home('85001', 'AZ'), '+1602', ['America/Phoenix']),
  place(home('96813', 'HI'), '+1808', ['Pacific/Honolulu']),
  // It moved and took its number with it.
  place(home('94105', 'CA'), '+1212', ['America/Los_Angeles', 'America/New_York']),
  place(home('98101', 'WA'), '+1305', ['America/Los_Angeles', 'America/New_York'], [daily(8, 20)], 3),
  // It says its state alone, which lies in two zones.
  place({ current_residence_state: 'FL' }, '+1727', ['America/New_York', 'America/Chicago'], [daily(8, 20)], 3),
  // Nothing is known.
  place({}, '+1800', [
    'America/New_York',
    'America/Chicago',
    'America/Denver',
    'America/Phoenix',
    'America/Los_Angeles',
  ]),
]

/** The day of the week in lower case, and the hour with its fraction, in a zone. */
export const localTime = (zone: string, at: number): { readonly day: string; readonly hour: number } => {
  const { day, time } = wallClock(zone, at)
  const [hour, minute] = time.split(':')
  return { day, hour: Number(hour) + Number(minute) / 60 }
}
