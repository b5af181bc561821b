import test from 'ava'
import { segmentReservations } from '../../../projections/follow-up/sending/segment-reservations.js'
import { accountId, engagementId } from '../../kit/domain/samples.js'
import { nextTurn } from '../../kit/time/turns.js'

/** An account with a limit, whose month has `sent` segments as far as the read model shows. */
const stageOf = (segmentsPerMonth: number, sent: number) => {
  let time = 0
  const reservations = segmentReservations({ now: () => time })
  const shown = { sent, counts: 0 }
  const count = () => {
    shown.counts += 1
    return Promise.resolve(shown.sent)
  }
  return {
    shown,
    release: reservations.release,
    hasRoom: (month = '2026-01') => reservations.hasRoom({ accountId: accountId(), month, segmentsPerMonth }, count),
    pass: (milliseconds: number) => {
      time += milliseconds
    },
    /** How many were left for the step, which takes one. */
    step: (n: number, month = '2026-01') =>
      reservations.decide({ id: engagementId(n), accountId: accountId(), month, segmentsPerMonth }, count, (left) => ({
        result: left,
        segments: left > 0 ? 1 : 0,
      })),
  }
}

test('while there is room the month is counted once a second, and each step is known at once', async (t) => {
  const { shown, step, release, pass } = stageOf(1_000, 100)
  t.deepEqual(await Promise.all([step(1), step(2), step(3)]), [900, 899, 898])
  t.is(shown.counts, 1)
  shown.sent += 3
  for (const n of [1, 2, 3]) release(engagementId(n))
  pass(999)
  t.is(await step(4), 897)
  t.is(shown.counts, 1)
  pass(1)
  t.is(await step(5), 896, 'what the read model shows counts once')
  t.is(shown.counts, 2)
})

test('another month is counted anew', async (t) => {
  const { shown, step } = stageOf(1_000, 100)
  t.is(await step(1), 900)
  shown.sent = 0
  t.is(await step(2, '2026-02'), 999)
})

test('where few are left each step is decided on a new count, so that none of them is sent too many or left over', async (t) => {
  const { shown, step, release } = stageOf(102, 100)
  t.is(await step(1), 2)
  shown.sent += 1
  release(engagementId(1))
  t.is(await step(2), 1)
  release(engagementId(2))
  t.is(await step(3), 1, 'the second was not sent after all')
  shown.sent += 1
  release(engagementId(3))
  t.is(await step(4), 0)
})

test('a count that takes longer than one that began later is not believed', async (t) => {
  const answers: Array<(used: number) => void> = []
  const reservations = segmentReservations({ now: () => 0 })
  const count = () => new Promise<number>((resolve) => answers.push(resolve))
  const answer = (used: number) => answers.shift()?.(used)
  const step = (n: number) =>
    reservations.decide(
      { id: engagementId(n), accountId: accountId(), month: '2026-01', segmentsPerMonth: 102 },
      count,
      (left) => ({ result: left, segments: left > 0 ? 1 : 0 }),
    )
  const first = step(1)
  answer(100)
  await nextTurn()
  answer(100)
  t.is(await first, 2)

  const second = step(2)
  await nextTurn()
  reservations.release(engagementId(1))
  const third = step(3)
  await nextTurn()
  const [ofSecond, ofThird] = answers
  ofThird?.(101)
  t.is(await third, 1)
  ofSecond?.(100)
  t.is(await second, 0)
})

test('a step that is decided once more takes the place of what it was before', async (t) => {
  const { shown, step, pass } = stageOf(1_000, 0)
  t.is(await step(1), 1_000)
  t.is(await step(1), 999)
  shown.sent = 1
  pass(1_000)
  t.is(await step(2), 998)
})

test('a month that is used up says nothing of the next one, which begins while it is counted', async (t) => {
  const { shown, step } = stageOf(1_000, 1_000)
  const old = step(1)
  const next = step(2, '2026-02')
  shown.sent = 0
  t.is(await old, 0)
  t.is(await next, 1_000)
})

test('a month that is used up is counted once a second, however many steps wait for it', async (t) => {
  const { shown, step, pass } = stageOf(100, 100)
  for (let n = 1; n <= 1_000; n += 1) t.is(await step(n), 0)
  t.is(shown.counts, 1)
  pass(1_000)
  t.is(await step(1), 0)
  t.is(shown.counts, 2)
})

test('a month has room until it is counted as used up, whatever is in flight', async (t) => {
  const { shown, step, hasRoom, pass } = stageOf(1, 0)
  t.is(await step(1), 1)
  t.true(await hasRoom())
  shown.sent = 1
  pass(1_000)
  t.false(await hasRoom())
})

test('whether a month has room is not said of the one before, which is counted just then', async (t) => {
  const { shown, step, hasRoom } = stageOf(1_000, 1_000)
  const old = step(1)
  const next = hasRoom('2026-02')
  shown.sent = 0
  t.is(await old, 0)
  t.true(await next)
})
