import type { TimeZone } from './us-places.js'

/** By how much the clocks of a zone are ahead of UTC, in milliseconds, and until when since 1970 they surely are. */
type ZoneOffset = { readonly offset: number; readonly until: number }

/** One stretch in UTC: what holds until the change of the clocks in it, and after that, or all the time. */
type Stretch = { readonly beforeChange: ZoneOffset | undefined; readonly last: ZoneOffset }

type Clock = { readonly format: Intl.DateTimeFormat; readonly stretches: Map<number, Stretch> }

const minute = 60_000

/** No zone changes its clocks twice in a week. */
const stretchLength = 7 * 24 * 60 * minute

/** Of a zone: the weeks of ten years. Whoever asks for others is not to fill the memory. */
const mostStretches = 520

/** Asking `Intl` takes microseconds, so each stretch is looked at once. */
const clocks = new Map<TimeZone, Clock>()

/** @throws RangeError when the zone is unknown. */
export const offsetAt = (zone: TimeZone, at: number): ZoneOffset => {
  const { beforeChange, last } = stretchOf(zone, Math.floor(at / stretchLength))
  return beforeChange !== undefined && at < beforeChange.until ? beforeChange : last
}

const stretchOf = (zone: TimeZone, number: number): Stretch => {
  const { format, stretches } = clocks.get(zone) ?? newClock(zone)
  const known = stretches.get(number)
  if (known !== undefined) return known
  const stretch = lookedUp(format, number * stretchLength)
  if (stretches.size >= mostStretches) stretches.clear()
  stretches.set(number, stretch)
  return stretch
}

const newClock = (zone: TimeZone): Clock => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const clock = { format, stretches: new Map<number, Stretch>() }
  clocks.set(zone, clock)
  return clock
}

const lookedUp = (clock: Intl.DateTimeFormat, from: number): Stretch => {
  const to = from + stretchLength
  const before = offsetShown(clock, from)
  const after = offsetShown(clock, to)
  const last = { offset: after, until: to }
  if (before === after) return { beforeChange: undefined, last }
  return { beforeChange: { offset: before, until: firstWithout(before, clock, from, to) }, last }
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
