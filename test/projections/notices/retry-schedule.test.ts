import test from 'ava'
import { millisecondsOf } from '../../../domain/instant.js'
import { maximalMailings } from '../../../domain/notice.js'
import { nextMailingAt } from '../../../projections/notices/retry-schedule.js'
import { at } from '../../kit/domain/samples.js'

test('mailing is tried for about four days: after a minute, then twice as late each time, four hours at most', (t) => {
  const retries = Array.from({ length: maximalMailings - 1 }, (_, n) => n + 1)
  const minutes = retries.map((attempt) => millisecondsOf(nextMailingAt(attempt, at())) - millisecondsOf(at()))
  t.deepEqual(
    minutes.slice(0, 10).map((wait) => wait / 60_000),
    [1, 2, 4, 8, 16, 32, 64, 128, 240, 240],
  )
  const days = minutes.reduce((sum, wait) => sum + wait, 0) / (24 * 60 * 60_000)
  t.true(days > 4 && days < 4.1, `${days} days`)
})
