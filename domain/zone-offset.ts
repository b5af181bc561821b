import type { TimeZone } from './us-places.js'

/** By how much the clocks of a zone are ahead of UTC, in milliseconds, and until when since 1970 they surely are. */
type ZoneOffset = { readonly offset: number; readonly until: number }

/** One year in UTC: what holds until each change of the clocks, and after the last one. */
type Year = { readonly beforeChanges: ReadonlyArray<ZoneOffset>; readonly last: ZoneOffset }

const minute = 60_000
const week = 7 * 24 * 60 * minute

/** Asking `Intl` takes microseconds, so the changes of a year are looked for once. */
const found = new Map<TimeZone, Map<number, Year>>()

/** @throws RangeError when the zone is unknown. */
export const offsetAt = (zone: TimeZone, at: number): ZoneOffset => {
  const { beforeChanges, last } = yearOf(zone, new Date(at).getUTCFullYear())
  return beforeChanges.find(({ until }) => at < until) ?? last
}

const yearOf = (zone: TimeZone, number: number): Year => {
  const known = found.get(zone)?.get(number)
  if (known !== undefined) return known
  const year = lookedUp(zone, number)
  found.set(zone, (found.get(zone) ?? new Map<number, Year>()).set(number, year))
  return year
}

const lookedUp = (zone: TimeZone, number: number): Year => {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const end = Date.UTC(number + 1, 0)
  const beforeChanges: Array<ZoneOffset> = []
  let offset = offsetShown(clock, Date.UTC(number, 0))
  // No zone changes its clocks twice in a week.
  for (let from = Date.UTC(number, 0); from < end; from += week) {
    const to = Math.min(from + week, end)
    const next = offsetShown(clock, to)
    if (next === offset) continue
    beforeChanges.push({ offset, until: firstWithout(offset, clock, from, to) })
    offset = next
  }
  return { beforeChanges, last: { offset, until: end } }
}

/** The first minute after `from` at which the offset is another one, as it is at `to`. */
const firstWithout = (offset: number, clock: Intl.DateTimeFormat, from: number, to: number): number => {
  let [before, after] = [from, to]
  while (after - before > minute) {
    const middle = before + Math.floor((after - before) / 2 / minute) * minute
    if (offsetShown(clock, middle) === offset) before = middle
    else after = middle
  }
  return after
}

/** `11/23/2026, GMT-05:00` ends in the offset, and that of UTC in `GMT`. */
const offsetShown = (clock: Intl.DateTimeFormat, at: number): number => {
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(clock.format(at)) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minute
}
