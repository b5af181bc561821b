import { day, minute } from './duration.js'
import type { TimeZone } from './us-places.js'

/** By how much the clocks of a zone are ahead of UTC, in milliseconds, and until when since 1970 they surely are. */
type ZoneOffset = { readonly offset: number; readonly until: number }

/** One stretch in UTC: what holds until the change of the clocks in it, and after that, or all the time. */
type Stretch = { readonly beforeChange: ZoneOffset | undefined; readonly last: ZoneOffset }

/** The offset that a zone's clocks show at an instant, in milliseconds. Asking costs microseconds. */
type Shown = (at: number) => number

/** No zone changes its clocks twice in a week. */
const stretchLength = 7 * day

/** Of a zone: the weeks of ten years. Whoever asks for others is not to fill the memory. */
const mostStretches = 520

/** The offsets of one zone, of which each stretch is looked up once. */
export const zoneOffsets = (shown: Shown): ((at: number) => ZoneOffset) => {
  const stretches = new Map<number, Stretch>()

  const stretchOf = (number: number): Stretch => {
    const known = stretches.get(number)
    if (known !== undefined) return known
    const stretch = lookedUp(shown, number * stretchLength)
    if (stretches.size >= mostStretches) stretches.clear()
    stretches.set(number, stretch)
    return stretch
  }
  return (at) => {
    const { beforeChange, last } = stretchOf(Math.floor(at / stretchLength))
    return beforeChange !== undefined && at < beforeChange.until ? beforeChange : last
  }
}

const zones = new Map<TimeZone, (at: number) => ZoneOffset>()

/** @throws RangeError when the zone is unknown. */
export const offsetAt = (zone: TimeZone, at: number): ZoneOffset => {
  const known = zones.get(zone)
  if (known !== undefined) return known(at)
  const offsets = zoneOffsets(shownBy(zone))
  zones.set(zone, offsets)
  return offsets(at)
}

const lookedUp = (shown: Shown, from: number): Stretch => {
  const to = from + stretchLength
  const before = shown(from)
  const after = shown(to)
  const last = { offset: after, until: to }
  if (before === after) return { beforeChange: undefined, last }
  return { beforeChange: { offset: before, until: firstWithout(before, shown, from, to) }, last }
}

/** The first minute after `from` at which the offset is another one, as it is at `to`. */
const firstWithout = (offset: number, shown: Shown, from: number, to: number): number => {
  let [before, after] = [from, to]
  while (after - before > minute) {
    const middle = before + Math.floor((after - before) / 2 / minute) * minute
    if (shown(middle) === offset) before = middle
    else after = middle
  }
  return after
}

/** `11/23/2026, GMT-05:00` ends in the offset, and that of UTC in `GMT`. */
const shownBy = (zone: TimeZone): Shown => {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  return (at) => {
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(clock.format(at)) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minute
  }
}
