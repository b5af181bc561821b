import { fromText, refined, t } from './codec.js'

/** A point in time: ISO 8601 in UTC with milliseconds and `Z`, so that text order is time order. */
export type Instant = string & { readonly Instant: unique symbol }

/** @throws RangeError when `milliseconds` lie outside what a date can hold. */
export const instantOf = (milliseconds: number): Instant => new Date(milliseconds).toISOString() as Instant

export const millisecondsOf = (instant: Instant): number => Date.parse(instant)

/**
 * The last instant whose year has four digits: of a later one text order would no longer be time order, and nobody
 * could decode it.
 */
const lastInstant = Date.parse('9999-12-31T23:59:59.999Z')

/** So many milliseconds later, and no later than the year 9999 ends. */
export const later = (instant: Instant, milliseconds: number): Instant =>
  instantOf(Math.min(millisecondsOf(instant) + milliseconds, lastInstant))

/** The latest of those that there are. */
export const latest = <First extends Instant | undefined>(
  first: First,
  ...others: ReadonlyArray<Instant | null | undefined>
): First | Instant =>
  others.reduce<First | Instant>(
    (last, one) => (one !== null && one !== undefined && (last === undefined || one > last) ? one : last),
    first,
  )

/**
 * `at`, or a millisecond after `last` when the clock has not moved past it. Receivers tell activities apart by contact,
 * label and time (contract 6.6.5), so two must never share one.
 */
export const strictlyAfter = (last: Instant | undefined, at: Instant): Instant =>
  last === undefined || at > last ? at : later(last, 1)

/** The month in UTC, such as 2026-01. */
export const monthOf = (instant: Instant): string => instant.slice(0, 7)

/** When the month that comes so many after that of `instant` begins, in UTC. */
const monthAfter = (instant: Instant, months: number): Instant => {
  const date = new Date(instant)
  return instantOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months))
}

/** When the next month begins, in UTC. */
export const nextMonthAfter = (instant: Instant): Instant => monthAfter(instant, 1)

/** The month of `instant` and those before it, `count` in all, newest first. */
export const monthsUntil = (instant: Instant, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => monthOf(monthAfter(instant, -index)))

const timestamp =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(Z|z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/

/** The instant that an ISO 8601 text names; undefined when it names none. Without an offset it is read as UTC. */
export const instantFromText = (text: string): Instant | undefined => {
  const match = timestamp.exec(text)
  const day = match?.[1]
  if (match === null || day === undefined || !isRealDate(day)) return undefined
  if (text.length === 10) return `${text}T00:00:00.000Z` as Instant
  const offset = match[2] ?? 'Z'
  const time = text.slice(11, text.length - (match[2]?.length ?? 0)).replace(',', '.')
  const milliseconds = Date.parse(`${day}T${time}${fullOffset(offset)}`)
  const instant = Number.isNaN(milliseconds) ? undefined : instantOf(milliseconds)
  // An offset can carry the last night of the year 9999 over into one that has five digits.
  return instant?.length === 24 ? instant : undefined
}

/** `+05` and `+0530` are ISO 8601 too, but `Date.parse` reads `+05:30` alone. */
const fullOffset = (offset: string): string => {
  if (offset.toUpperCase() === 'Z') return 'Z'
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0')
  return `${offset.slice(0, 1)}${digits.slice(0, 2)}:${digits.slice(2)}`
}

/** Whether `YYYY-MM-DD` stands in the calendar. `Date.parse` alone rolls 30 February over into March. */
export const isRealDate = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const parsed = new Date(`${text}T00:00:00.000Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text)
}

/**
 * Instants of days that every month has: of these the form alone tells that `instantOf` writes them so, at a fifth of
 * the cost.
 */
const onDayOfEveryMonth = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** Whether `instantOf` writes it so: a day that the calendar lacks is written as another one. */
const isWritten = (text: string): boolean => onDayOfEveryMonth.test(text) || (text.length === 24 && isRewritten(text))

const isRewritten = (text: string): boolean => {
  const milliseconds = Date.parse(text)
  return !Number.isNaN(milliseconds) && instantOf(milliseconds) === text
}

/** A stored instant, exactly as `instantOf` writes it. */
export const Instant = refined(
  'a UTC timestamp with milliseconds',
  (value): value is Instant => typeof value === 'string' && isWritten(value),
)

/**
 * Where older versions could store one beyond the year 9999, such as +010000-01-01T00:59:59.000Z: it is read as the
 * last one before.
 */
export const BoundedInstant = new t.Type<Instant, Instant, unknown>(
  Instant.name,
  Instant.is,
  (value, context) =>
    typeof value === 'string' && value.startsWith('+') && isRewritten(value)
      ? t.success(instantOf(lastInstant))
      : Instant.validate(value, context),
  t.identity,
)

/** Any ISO 8601 timestamp a client may send, decoded to UTC. */
export const InstantFromText = fromText('an ISO 8601 timestamp', (text) => instantFromText(text.trim()), Instant.is)
