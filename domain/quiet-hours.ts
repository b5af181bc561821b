import { fractionOf } from './derived-id.js'
import { day, hour, minute } from './duration.js'
import { instantOf, later, millisecondsOf, type Instant } from './instant.js'
import { stateHours } from './state-hours.js'
import type { TimeZone } from './us-places.js'
import type { Whereabouts } from './whereabouts.js'
import { offsetAt } from './zone-offset.js'

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

/** What a playbook says about when it sends. */
type SendingRules = {
  /**
   * `HH:MM` to `HH:MM` on the contact's clock, over midnight where `to` is the earlier one: nothing is sent from `from`
   * on, and at `to` it may be again. Where both are the same, which is refused today, no hour is quiet. Null turns off
   * the rules of the states, too.
   */
  readonly quiet_hours: { readonly from: string; readonly to: string } | null
  readonly days: ReadonlyArray<(typeof weekdays)[number]>
}

/** From and to; within a day, or within a week from Monday on, in milliseconds. */
type Stretch = readonly [from: number, to: number]

/** When messages may be sent to a contact: while it is open in all zones. */
export type SendingHours = {
  readonly zones: ReadonlyArray<TimeZone>
  /** In the local week, in order. */
  readonly open: ReadonlyArray<Stretch>
  /** How many of an account may be sent to it in any 24 hours; undefined where no state limits them. */
  readonly messagesIn24Hours: number | undefined
}

const week = 7 * day

/** An hour that comes every week comes in it, also where the clocks skip it once. */
const furthestOpening = 15 * day

/** So far ahead it is looked for when it turns quiet. */
const furthestClosing = 8 * day

/** Over which the steps that waited for the morning are spread. */
const morning = 30 * minute

/** The stricter of playbook and states counts. */
export const sendingHoursOf = ({ quiet_hours, days }: SendingRules, { zones, states }: Whereabouts): SendingHours => {
  const rules = quiet_hours === null ? [] : states.flatMap((state) => stateHours[state] ?? [])
  const awake = awakeIn(quiet_hours)
  const open = weekdays.flatMap((name, index) => {
    const limits = rules.map((rule) => (name === 'saturday' || name === 'sunday' ? rule[name] : rule.weekdays))
    if (!days.includes(name) || limits.includes(null)) return []
    const from = Math.max(0, ...limits.map((limit) => (limit?.[0] ?? 0) * hour))
    const to = Math.min(day, ...limits.map((limit) => (limit?.[1] ?? 24) * hour))
    return awake
      .map((stretch): Stretch => [Math.max(stretch[0], from), Math.min(stretch[1], to)])
      .filter((stretch) => stretch[0] < stretch[1])
      .map((stretch): Stretch => [stretch[0] + index * day, stretch[1] + index * day])
  })
  const most = Math.min(...rules.map(({ messagesIn24Hours }) => messagesIn24Hours ?? Infinity))
  return { zones, open, messagesIn24Hours: most === Infinity ? undefined : most }
}

/** The parts of a day that are not quiet. */
const awakeIn = (quiet: SendingRules['quiet_hours']): ReadonlyArray<Stretch> => {
  const from = timeOfDay(quiet?.from ?? '00:00')
  const to = timeOfDay(quiet?.to ?? '00:00')
  return from > to
    ? [[to, from]]
    : [
        [0, from],
        [to, day],
      ]
}

/** `HH:MM` in milliseconds from midnight. */
const timeOfDay = (text: string): number => Number(text.slice(0, 2)) * hour + Number(text.slice(3)) * minute

/** The first instant from `at` on at which a message may be sent; undefined where the zones have no hour in common. */
export const nextAllowed = (hours: SendingHours, at: Instant): Instant | undefined => {
  const start = millisecondsOf(at)
  let now = start
  while (now < start + furthestOpening) {
    const shut = firstShut(hours, now)
    if (shut === undefined) return now === start ? at : instantOf(now)
    now = shut
  }
  return undefined
}

/**
 * When it turns quiet: the end of the hours that `at` lies in, `at` itself where it lies in none. Undefined where that
 * is more than 8 days away.
 */
export const quietFrom = (hours: SendingHours, at: Instant): Instant | undefined => {
  const start = millisecondsOf(at)
  let now = start
  while (now < start + furthestClosing) {
    if (firstShut(hours, now) !== undefined) return now === start ? at : instantOf(now)
    now = Math.min(...hours.zones.map((zone) => stateAt(hours, zone, now).until))
  }
  return undefined
}

/**
 * When a step that is due at `at` is sent: at once, or in the first half hour of the next hours, not all in the same
 * moment: `key`, such as the step's id, decides. Undefined as in `nextAllowed`.
 */
export const sendingTime = (hours: SendingHours, at: Instant, key: string): Instant | undefined => {
  const opens = nextAllowed(hours, at)
  if (opens === undefined || opens === at) return opens
  const closes = quietFrom(hours, opens)
  const length = closes === undefined ? morning : Math.min(morning, millisecondsOf(closes) - millisecondsOf(opens))
  return later(opens, Math.floor(fractionOf(key) * length))
}

/** Until when the first zone that is shut surely stays so; undefined where all are open. */
const firstShut = (hours: SendingHours, at: number): number | undefined => {
  for (const zone of hours.zones) {
    const { open, until } = stateAt(hours, zone, at)
    if (!open) return until
  }
  return undefined
}

/**
 * Whether a zone is open, and until when it surely stays as it is. A change of the clocks ends that, since it moves
 * them.
 */
const stateAt = (
  hours: SendingHours,
  zone: TimeZone,
  at: number,
): { readonly open: boolean; readonly until: number } => {
  const { offset, until } = offsetAt(zone, at)
  // 1970 began on a Thursday.
  const intoWeek = (((at + offset + 3 * day) % week) + week) % week
  const stretch = hours.open.find(([, to]) => intoWeek < to)
  const open = stretch !== undefined && stretch[0] <= intoWeek
  const next = stretch === undefined ? week : open ? stretch[1] : stretch[0]
  return { open, until: Math.min(until, at + next - intoWeek) }
}

/**
 * When a state allows the next message, where `sent` within the last 24 hours, oldest first, are as many as it allows;
 * else undefined.
 */
export const dayIsFullUntil = (
  { messagesIn24Hours }: Pick<SendingHours, 'messagesIn24Hours'>,
  sent: ReadonlyArray<Instant>,
): Instant | undefined => {
  const first = messagesIn24Hours === undefined ? undefined : sent.at(-messagesIn24Hours)
  return first === undefined ? undefined : later(first, day)
}

/** However many engagements a contact has: forms that somebody else fills in with its number each begin one. */
const mostBeforeStepInDay = 10

/** Until when the next step waits, where `sent` within the last 24 hours, oldest first, is too much; else undefined. */
export const stepsAreFullUntil = (sent: ReadonlyArray<Instant>): Instant | undefined =>
  dayIsFullUntil({ messagesIn24Hours: mostBeforeStepInDay }, sent)
