import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { day, minute } from '../../domain/duration.js'
import { instantFromText, instantOf, millisecondsOf, type Instant } from '../../domain/instant.js'
import { defaultSettings } from '../../domain/playbook-settings.js'
import {
  dayIsFullUntil,
  nextAllowed,
  quietFrom,
  sendingHoursOf,
  sendingTime,
  type SendingHours,
} from '../../domain/quiet-hours.js'
import { continentalZones } from '../../domain/us-places.js'
import { stateHours } from '../../domain/state-hours.js'
import { holds } from '../kit/domain/property.js'
import { wallClock } from '../kit/time/wall-clock.js'

type Rules = Parameters<typeof sendingHoursOf>[0]

const newYork = 'America/New_York'
const chicago = 'America/Chicago'
const losAngeles = 'America/Los_Angeles'

const at = (text: string): Instant => instantFromText(text) ?? assert.fail(text)
const quiet = (from: string, to: string): Rules => ({ ...defaultSettings, quiet_hours: { from, to } })

const hoursIn = (zones: ReadonlyArray<string>, rules: Rules = defaultSettings, ...states: ReadonlyArray<string>) =>
  sendingHoursOf(rules, { zones, states })

/** 24 and 25 November 2026 are a Tuesday and a Wednesday, in winter time. */
const night = at('2026-11-24T23:10-05:00')

test('at night nothing is sent before the morning, and by day at once', (t) => {
  const hours = hoursIn([newYork])
  t.is(nextAllowed(hours, night), at('2026-11-25T08:00-05:00'))
  t.is(nextAllowed(hours, at('2026-11-25T07:59:59.999-05:00')), at('2026-11-25T08:00-05:00'))
  t.is(nextAllowed(hours, at('2026-11-25T20:59:59.999-05:00')), at('2026-11-25T20:59:59.999-05:00'))
  t.is(nextAllowed(hours, at('2026-11-25T21:00-05:00')), at('2026-11-26T08:00-05:00'))
})

test('it turns quiet in the evening, and is so at night', (t) => {
  const hours = hoursIn([newYork])
  t.is(quietFrom(hours, at('2026-11-25T12:34-05:00')), at('2026-11-25T21:00-05:00'))
  t.is(quietFrom(hours, night), night)
})

test('a contact who may be in two zones is written to while both are awake', (t) => {
  const hours = hoursIn([newYork, losAngeles])
  t.is(nextAllowed(hours, night), at('2026-11-25T11:00-05:00'))
  t.is(quietFrom(hours, at('2026-11-25T12:00-05:00')), at('2026-11-25T21:00-05:00'))
})

test('one who may be anywhere is written to while the whole continental US is awake', (t) => {
  const hours = hoursIn(continentalZones)
  t.is(nextAllowed(hours, at('2026-07-01T23:00-04:00')), at('2026-07-02T11:00-04:00'))
  t.is(quietFrom(hours, at('2026-07-02T11:00-04:00')), at('2026-07-02T21:00-04:00'))
})

test('where no common hour is left nothing may be sent', (t) => {
  t.is(nextAllowed(hoursIn([newYork, losAngeles], quiet('10:00', '08:00')), night), undefined)
  t.not(nextAllowed(hoursIn([newYork], quiet('10:00', '08:00')), night), undefined)
})

test('quiet hours may lie within a day, and the night between two days is then open', (t) => {
  const hours = hoursIn([newYork], quiet('12:00', '13:30'))
  t.is(nextAllowed(hours, at('2026-11-25T12:00-05:00')), at('2026-11-25T13:30-05:00'))
  t.is(quietFrom(hours, at('2026-11-25T13:30-05:00')), at('2026-11-26T12:00-05:00'))
})

test('quiet hours that begin when they end are none', (t) => {
  const hours = hoursIn([newYork], quiet('08:00', '08:00'))
  t.is(nextAllowed(hours, night), night)
  t.is(quietFrom(hours, night), undefined)
})

test('a playbook that sends on some days waits for the next of them, on the contact’s calendar', (t) => {
  const monday: Rules = { ...defaultSettings, days: ['monday'] }
  t.is(nextAllowed(hoursIn([newYork], monday), night), at('2026-11-30T08:00-05:00'))
  const always: Rules = { quiet_hours: null, days: ['monday'] }
  t.is(nextAllowed(hoursIn([newYork, losAngeles], always), night), at('2026-11-30T03:00-05:00'))
  t.is(quietFrom(hoursIn([newYork, losAngeles], always), at('2026-11-30T12:00-05:00')), at('2026-12-01T00:00-05:00'))
})

test('an hour that the clocks skip is over when they have', (t) => {
  const hours = hoursIn([newYork], quiet('21:00', '02:30'))
  t.is(nextAllowed(hours, at('2026-03-08T01:00-05:00')), at('2026-03-08T03:00-04:00'))
})

test('an hour of the week that the clocks skip once is waited for until it comes again', (t) => {
  const onSundays = (from: string, to: string): Rules => ({ ...quiet(from, to), days: ['sunday'] })
  const before = at('2026-03-02T12:00-05:00')
  t.is(nextAllowed(hoursIn([newYork], onSundays('03:00', '02:00')), before), at('2026-03-15T02:00-04:00'))
  // On the morning of the change New York has moved on before Los Angeles wakes.
  t.is(nextAllowed(hoursIn(continentalZones, onSundays('03:30', '00:00')), before), at('2026-03-15T03:00-04:00'))
})

test('an hour that comes twice is quiet twice', (t) => {
  const hours = hoursIn([newYork], quiet('21:00', '01:30'))
  t.is(nextAllowed(hours, at('2026-11-01T01:00-04:00')), at('2026-11-01T01:30-04:00'))
  t.is(quietFrom(hours, at('2026-11-01T01:30-04:00')), at('2026-11-01T01:00-05:00'))
  t.is(nextAllowed(hours, at('2026-11-01T01:00-05:00')), at('2026-11-01T01:30-05:00'))
})

/** The open hours of a day in a state, by a playbook without quiet hours of its own. */
const hoursOn = (state: string, date: string): string => {
  const hours = hoursIn(['Etc/UTC'], quiet('00:00', '00:00'), state)
  const from = nextAllowed(hours, at(`${date}T00:00Z`)) ?? assert.fail()
  const to = quietFrom(hours, from) ?? assert.fail()
  return from.startsWith(date) ? `${from.slice(11, 16)} to ${to.slice(11, 16)}` : 'none'
}

test('the hours of each state that is stricter, on a weekday, a Saturday and a Sunday', (t) => {
  const expected: Readonly<Record<string, ReadonlyArray<string>>> = {
    AL: ['08:00 to 20:00', '08:00 to 20:00', 'none'],
    CT: ['09:00 to 20:00', '09:00 to 20:00', '09:00 to 20:00'],
    FL: ['08:00 to 20:00', '08:00 to 20:00', '08:00 to 20:00'],
    KY: ['10:00 to 21:00', '10:00 to 21:00', '10:00 to 21:00'],
    LA: ['08:00 to 20:00', '08:00 to 20:00', 'none'],
    MD: ['08:00 to 20:00', '08:00 to 20:00', '08:00 to 20:00'],
    MA: ['08:00 to 20:00', '08:00 to 20:00', '08:00 to 20:00'],
    MN: ['09:00 to 21:00', '09:00 to 21:00', '09:00 to 21:00'],
    MS: ['08:00 to 21:00', '08:00 to 21:00', 'none'],
    NV: ['09:00 to 20:00', '09:00 to 20:00', '09:00 to 20:00'],
    NM: ['09:00 to 21:00', '09:00 to 21:00', '09:00 to 21:00'],
    OK: ['08:00 to 20:00', '08:00 to 20:00', '08:00 to 20:00'],
    OR: ['08:00 to 20:00', '08:00 to 20:00', '08:00 to 20:00'],
    RI: ['09:00 to 18:00', '10:00 to 17:00', 'none'],
    SD: ['09:00 to 21:00', 'none', 'none'],
    TX: ['09:00 to 21:00', '09:00 to 21:00', '12:00 to 21:00'],
    UT: ['08:00 to 21:00', '08:00 to 21:00', 'none'],
    WA: ['08:00 to 20:00', '08:00 to 20:00', '08:00 to 20:00'],
  }
  t.deepEqual(Object.keys(expected).toSorted(), Object.keys(stateHours).toSorted())
  const days = ['2026-11-27', '2026-11-28', '2026-11-29']
  for (const [state, hours] of Object.entries(expected)) {
    t.deepEqual(
      days.map((day) => hoursOn(state, day)),
      hours,
      state,
    )
  }
})

test('the stricter of playbook and states counts', (t) => {
  const hours = hoursIn([chicago], quiet('19:30', '08:30'), 'FL', 'TX')
  t.is(nextAllowed(hours, at('2026-11-24T23:10-06:00')), at('2026-11-25T09:00-06:00'))
  t.is(quietFrom(hours, at('2026-11-25T09:00-06:00')), at('2026-11-25T19:30-06:00'))
})

test('Florida, Oklahoma, Oregon and Maryland allow three messages in 24 hours, wherever else the contact may be', (t) => {
  for (const state of ['FL', 'OK', 'OR', 'MD']) {
    t.is(hoursIn([newYork], defaultSettings, 'TX', state).messagesIn24Hours, 3, state)
  }
  t.is(hoursIn([newYork], defaultSettings, 'TX').messagesIn24Hours, undefined)
})

test('the next message waits until fewer than the state allows were sent within 24 hours, however many were', (t) => {
  const hours = hoursIn([newYork], defaultSettings, 'FL')
  const sent = ['09:00', '10:00', '11:00', '12:00'].map((time) => at(`2026-11-24T${time}-05:00`))
  t.is(dayIsFullUntil(hours, sent.slice(0, 2)), undefined)
  t.is(dayIsFullUntil(hours, sent.slice(0, 3)), at('2026-11-25T09:00-05:00'))
  t.is(dayIsFullUntil(hours, sent), at('2026-11-25T10:00-05:00'))
})

test('a playbook without quiet hours switches off the rules of the states, too', (t) => {
  const hours = hoursIn([newYork], { ...defaultSettings, quiet_hours: null }, 'FL', 'RI')
  t.is(nextAllowed(hours, night), night)
  t.is(hours.messagesIn24Hours, undefined)
})

const keys = Array.from({ length: 1000 }, (_, index) => `neg_${index}/1`)

test('steps that wait for the morning are spread over its first half hour, each always to the same moment', (t) => {
  const hours = hoursIn([newYork])
  const opens = millisecondsOf(at('2026-11-25T08:00-05:00'))
  const minutes = keys.map((key) => {
    const sent = sendingTime(hours, night, key) ?? assert.fail()
    t.is(sendingTime(hours, night, key), sent)
    return Math.floor((millisecondsOf(sent) - opens) / 60_000)
  })
  t.deepEqual(
    [...new Set(minutes)].sort((a, b) => a - b),
    Array.from({ length: 30 }, (_, minute) => minute),
  )
})

test('a step by day is sent at once, and none where no hour is left', (t) => {
  const noon = at('2026-11-25T12:00-05:00')
  t.is(sendingTime(hoursIn([newYork]), noon, 'neg_1/1'), noon)
  t.is(sendingTime(hoursIn([newYork, losAngeles], quiet('10:00', '08:00')), noon, 'neg_1/1'), undefined)
})

test('where the hours are shorter than half an hour, no step is spread past their end', (t) => {
  const hours = hoursIn([newYork], quiet('08:10', '08:00'))
  for (const key of keys) {
    const sent = sendingTime(hours, night, key) ?? assert.fail()
    t.true(sent < at('2026-11-25T08:10-05:00') && nextAllowed(hours, sent) === sent, key)
  }
})

/** By what a clock on the wall shows. */
const isAllowed = ({ quiet_hours, days }: Rules, zones: ReadonlyArray<string>, time: number): boolean =>
  zones.every((zone) => {
    const { day, time: clock } = wallClock(zone, time)
    if (!days.some((one) => one === day)) return false
    if (quiet_hours === null) return true
    const { from, to } = quiet_hours
    return from <= to ? clock < from || clock >= to : clock < from && clock >= to
  })

/** Minute by minute, since nothing else changes what a clock shows. */
const firstWhere = (start: number, days: number, matches: (time: number) => boolean): Instant | undefined => {
  for (let time = start; time < start + days * day; time = (Math.floor(time / minute) + 1) * minute) {
    if (matches(time)) return instantOf(time)
  }
  return undefined
}

const timeOfDay = fc.integer({ min: 0, max: 24 * 60 - 1 }).map((time) => instantOf(time * minute).slice(11, 16))
const someRules = fc.record({
  quiet_hours: fc.option(fc.record({ from: timeOfDay, to: timeOfDay })),
  days: fc.subarray([...defaultSettings.days], { minLength: 1 }),
})
const someZones = fc.subarray([...continentalZones, 'America/Anchorage', 'Pacific/Honolulu', 'Pacific/Guam'], {
  minLength: 1,
  maxLength: 3,
})
/** Around changes of the clocks, a new year, and nothing in particular. */
const someInstant = fc
  .tuple(fc.constantFrom('2026-03-05', '2026-10-29', '2026-12-29', '2027-06-09'), fc.integer({ min: 0, max: 4 * day }))
  .map(([date, past]) => instantOf(millisecondsOf(at(date)) + past))

const agrees = (
  t: Parameters<typeof holds>[0],
  computed: (hours: SendingHours, start: Instant) => Instant | undefined,
  wanted: boolean,
  days: number,
): void =>
  holds(
    t,
    fc.property(someRules, someZones, someInstant, (rules, zones, start) => {
      const expected = firstWhere(millisecondsOf(start), days, (time) => isAllowed(rules, zones, time) === wanted)
      assert.equal(computed(sendingHoursOf(rules, { zones, states: [] }), start), expected)
    }),
    { numRuns: 200 },
  )

test('the next allowed instant is the first one at which all clocks on the wall show an allowed time', (t) => {
  agrees(t, nextAllowed, true, 15)
})

test('it turns quiet at the first instant at which a clock on the wall shows a quiet time', (t) => {
  agrees(t, quietFrom, false, 8)
})
