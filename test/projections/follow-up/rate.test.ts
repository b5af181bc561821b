import test from 'ava'
import fc from 'fast-check'
import type { EngagementId } from '../../../domain/ids.js'
import { instantOf, millisecondsOf } from '../../../domain/instant.js'
import { sendingRates } from '../../../projections/follow-up/sending/rate.js'
import { at, engagementId } from '../../kit/domain/samples.js'

const minute = 60_000
const hour = 60 * minute
const sender = { from: '+14155550101', messages_per_second: 1 }

test('a process uses as much of a rate as it has of the contacts', (t) => {
  let share = 0.5
  const { nextSendTime } = sendingRates(() => share)
  t.is(nextSendTime(sender, engagementId(1), at()), undefined)
  t.is(nextSendTime(sender, engagementId(2), at()), at(2_000))
  t.is(nextSendTime(sender, engagementId(2), at(1)), at(2_000), 'it keeps its place')
  share = 1
  t.is(nextSendTime(sender, engagementId(3), at()), at(4_000))
  t.is(nextSendTime(sender, engagementId(4), at()), at(5_000))
  t.is(nextSendTime(sender, engagementId(2), at(2_000)), undefined)
  t.is(
    nextSendTime({ ...sender, from: '+14155550102' }, engagementId(5), at()),
    undefined,
    'another sender has its own',
  )
  t.is(nextSendTime({ ...sender, messages_per_second: null }, engagementId(6), at()), undefined)
})

test('a message that comes a moment too late to its place goes out all the same, though another one did meanwhile', (t) => {
  const { nextSendTime } = sendingRates(() => 1)
  t.is(nextSendTime(sender, engagementId(1), at()), undefined)
  t.is(nextSendTime(sender, engagementId(2), at()), at(1_000))
  t.is(nextSendTime(sender, engagementId(3), at()), at(2_000))
  t.is(nextSendTime(sender, engagementId(3), at(2_000)), undefined)
  t.is(nextSendTime(sender, engagementId(2), at(2_500)), undefined)
})

/** As many as have a place at most. */
const mostPlaces = 100_000

/** When the messages of these numbers may go out, which all come at once. */
const timesOf = (numbers: { readonly from: number; readonly count: number }, next: (id: EngagementId) => unknown) =>
  Array.from({ length: numbers.count }, (_, n) => next(engagementId(numbers.from + n)))

test('a sender keeps its places, however many messages of another one wait', (t) => {
  const { nextSendTime } = sendingRates(() => 1)
  const other = { ...sender, from: '+14155550102' }
  t.is(nextSendTime(sender, engagementId(1), at()), undefined)
  t.is(nextSendTime(sender, engagementId(2), at()), at(1_000))
  timesOf({ from: 3, count: mostPlaces + 2 }, (id) => nextSendTime(other, id, at()))
  t.is(nextSendTime(sender, engagementId(2), at(1)), at(1_000))
})

test('where more messages of a sender wait than can have a place, those that have one go out in it', (t) => {
  const { nextSendTime } = sendingRates(() => 1)
  const times = timesOf({ from: 0, count: mostPlaces + 3 }, (id) => nextSendTime(sender, id, at()))
  const last = mostPlaces * 1_000
  t.deepEqual(times.slice(0, 3), [undefined, at(1_000), at(2_000)])
  t.deepEqual(
    times.slice(-3),
    [at(last), at(last + 1_000), at(last + 1_000)],
    'the others come again when all are over',
  )
  t.is(nextSendTime(sender, engagementId(1), at(1_000)), undefined)
  t.is(nextSendTime(sender, engagementId(2), at(1_001)), at(2_000))
  t.is(nextSendTime(sender, engagementId(mostPlaces + 1), at(1_001)), at(last + 1_000), 'whose place has become free')
})

test('the place of a message that does not come to it goes to another one', (t) => {
  const { nextSendTime } = sendingRates(() => 1)
  timesOf({ from: 0, count: mostPlaces + 1 }, (id) => nextSendTime(sender, id, at()))
  const place = nextSendTime(sender, engagementId(mostPlaces + 1), at(20_000))
  t.is(place, at((mostPlaces + 1) * 1_000))
  t.is(nextSendTime(sender, engagementId(mostPlaces + 2), at(20_000)), at((mostPlaces + 2) * 1_000))
})

type Waiting = {
  readonly due: number
  /** How late it comes to each of its places. */
  readonly lag: number
  /** Something else, such as the night, keeps it until then. */
  readonly kept: number
}

/** When messages of a sender go out. */
const departures = (perSecond: number, messages: ReadonlyArray<Waiting>): ReadonlyArray<number> => {
  const { nextSendTime } = sendingRates(() => 1)
  const sentAt: Array<number> = []
  let waiting = messages.map((message, n) => ({ ...message, id: engagementId(n + 1) }))
  for (;;) {
    const [next, ...others] = waiting.toSorted((one, other) => one.due - other.due)
    if (next === undefined) return sentAt
    const place = nextSendTime({ ...sender, messages_per_second: perSecond }, next.id, instantOf(next.due))
    if (place === undefined) sentAt.push(next.due)
    const due = place === undefined ? 0 : Math.max(millisecondsOf(place) + next.lag, next.kept)
    waiting = place === undefined ? others : [...others, { ...next, due }]
  }
}

test('however late messages come to their places, in no time more of them go out than their rate allows', (t) => {
  const waiting = fc.record({ due: fc.nat(5_000), lag: fc.nat(20_000), kept: fc.constantFrom(0, 60_000) })
  fc.assert(
    fc.property(fc.constantFrom(0.5, 1, 10), fc.array(waiting, { maxLength: 60 }), (perSecond, messages) => {
      const sentAt = departures(perSecond, messages)
      // Tasks may begin up to ten seconds late.
      const allowed = (time: number) => ((time + 10_000) / 1_000) * perSecond + 2
      return (
        sentAt.length === messages.length &&
        sentAt.every((from, i) => sentAt.slice(i).every((to, count) => count + 1 <= allowed(to - from)))
      )
    }),
  )
  t.pass()
})

test('what the night has kept from its place goes out at the pace of its sender in the morning', (t) => {
  const kept = 10 * hour
  const messages = Array.from({ length: 300 }, (_, due) => ({ due, lag: 0, kept }))
  const sentAt = departures(1, messages)
  t.is(sentAt.length, 300)
  t.is(sentAt.filter((time) => time >= kept && time < kept + minute).length, 60)
})
