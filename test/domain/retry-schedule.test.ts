import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { millisecondsOf, type Instant } from '../../domain/instant.js'
import { holds } from '../kit/domain/property.js'
import { at } from '../kit/domain/samples.js'
import {
  deliveryRetries,
  messageRetryAt,
  nextDeliveryAttemptAt,
  nextCopyErasureAt,
  nextMailAttemptAt,
  nextMessageAttemptAt,
  noticeRetries,
} from '../../domain/retry-schedule.js'

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index + 1)

const retries = upTo(deliveryRetries)
const almostOne = 1 - 2 ** -53

const delayOf = (attempt: number, random: number): number =>
  millisecondsOf(nextDeliveryAttemptAt(attempt, at(), random)) - millisecondsOf(at())

const totalOf = (random: number): number => retries.reduce((total, attempt) => total + delayOf(attempt, random), 0)

const hours = 3_600_000

test('without jitter the delays are those of the schedule, to the millisecond', (t) => {
  t.deepEqual(
    retries.map((attempt) => delayOf(attempt, 0) / 1000),
    [15, 16, 31, 96, 271, 640, 1311, 2416, 4111, 6576, 10_015, 14_656, 20_751, 28_576, 38_431, 50_640, 65_551, 83_536],
  )
})

test('a retry never comes early, and never later than its jitter allows', (t) => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  holds(
    t,
    fc.property(fc.constantFrom(...retries), random, (attempt, jitter) => {
      const least = ((attempt - 1) ** 4 + 15) * 1000
      const delay = delayOf(attempt, jitter)
      assert.ok(delay >= least && delay <= least + attempt * 10_000, `${delay}`)
      assert.ok(Number.isInteger(delay))
    }),
    { numRuns: 2000 },
  )
})

test('all retries of a delivery take about four days, with any jitter', (t) => {
  for (const random of [0, 0.5, almostOne]) {
    t.true(totalOf(random) > (3 * 24 + 18) * hours)
    t.true(totalOf(random) < 4 * 24 * hours)
  }
})

test('the delay counts from the time at which the attempt failed', (t) => {
  t.is(nextDeliveryAttemptAt(1, at(250), 0), at(15_250))
  t.is(nextDeliveryAttemptAt(2, at(250), 0.5), at(26_250))
})

test('a message is tried 28 times; while its sender is blocked no attempt is the last', (t) => {
  t.is(messageRetryAt(1, 'failed', at()), at(60_000))
  t.is(messageRetryAt(27, 'unreached', at()), nextMessageAttemptAt(27, at()))
  t.is(messageRetryAt(28, 'unreached', at()), undefined)
  t.is(messageRetryAt(28, 'failed', at()), undefined)
  t.is(messageRetryAt(28, 'sender-blocked', at()), nextMessageAttemptAt(28, at()))
})

test('a provider is asked to erase its copy for two weeks: again after an hour, and then once a day', (t) => {
  const asked: Array<Instant> = []
  for (let next: Instant | undefined = at(); next !== undefined; next = nextCopyErasureAt(asked.length, next))
    asked.push(next)
  t.deepEqual(asked, [at(), ...upTo(14).map((day) => at(hours + (day - 1) * 24 * hours))])
})

test('mailing is tried for about four days: after a minute, then twice as late each time, four hours at most', (t) => {
  const waits = upTo(noticeRetries).map(
    (attempt) => millisecondsOf(nextMailAttemptAt(attempt, at())) - millisecondsOf(at()),
  )
  t.deepEqual(
    waits.slice(0, 10).map((wait) => wait / 60_000),
    [1, 2, 4, 8, 16, 32, 64, 128, 240, 240],
  )
  const days = waits.reduce((sum, wait) => sum + wait, 0) / (24 * hours)
  t.true(days > 4 && days < 4.1, `${days} days`)
})
