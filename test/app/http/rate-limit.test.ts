import test from 'ava'
import { rateLimit } from '../../../app/http/rate-limit.js'
import { at } from '../../kit/domain/samples.js'
import { manualClock } from '../../kit/time/manual-clock.js'

test('whoever waits as long as they are told to is served again, and nobody before the minute is over', (t) => {
  const clock = manualClock()
  const { consume } = rateLimit(clock)
  clock.set(at(500))
  t.is(consume('key', 1), undefined)
  t.deepEqual(consume('key', 1), { kind: 'too-many-requests', retryAfter: 60 })
  clock.set(at(59_999))
  t.deepEqual(consume('key', 1), { kind: 'too-many-requests', retryAfter: 1 })
  clock.set(at(60_000))
  t.is(consume('key', 1), undefined)
})
