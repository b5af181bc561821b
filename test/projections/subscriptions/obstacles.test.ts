import test from 'ava'
import { StoreFailed } from '../../../domain/store-failed.js'
import { obstacles } from '../../../projections/subscriptions/obstacles.js'

const away = new StoreFailed({ kind: 'unavailable', reason: 'away' })

test('what a worker fails at is told of until all of it is overcome', (t) => {
  const { met, overcome, reason } = obstacles({ now: () => 0 })
  t.is(reason(), undefined)
  met('one', away)
  met('other', away)
  overcome('one')
  t.is(reason(), 'away')
  overcome('other')
  t.is(reason(), undefined)
})

test('the message of an exception, which may hold a value, is not told', (t) => {
  const { met, reason } = obstacles({ now: () => 0 })
  met('one', new TypeError('+14155550123 is no phone'))
  t.is(reason(), 'an exception (TypeError)')
})

test('what does not fail again for a minute is not tried any more', (t) => {
  let now = 0
  const { met, reason } = obstacles({ now: () => now })
  met('one', away)
  now = 59_999
  t.is(reason(), 'away')
  met('other', away)
  now = 60_000
  t.is(reason(), 'away')
  now = 120_000
  t.is(reason(), undefined)
})
