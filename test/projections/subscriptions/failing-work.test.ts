import test from 'ava'
import { StoreFailed } from '../../../domain/store-failed.js'
import { failingWork } from '../../../projections/subscriptions/failing-work.js'

const away = new StoreFailed({ kind: 'unavailable', reason: 'away' })

test('what a worker fails at is told of until all of it has ended', (t) => {
  const { failed, ended, reason } = failingWork({ now: () => 0 })
  t.is(reason(), undefined)
  failed('one', away)
  failed('other', away)
  ended('one')
  t.is(reason(), 'away')
  ended('other')
  t.is(reason(), undefined)
})

test('the message of an exception, which may hold a value, is not told', (t) => {
  const { failed, reason } = failingWork({ now: () => 0 })
  failed('one', new TypeError('+14155550123 is no phone'))
  t.is(reason(), 'an exception (TypeError)')
})

test('what does not fail again for a minute is not tried any more', (t) => {
  let now = 0
  const { failed, reason } = failingWork({ now: () => now })
  failed('one', away)
  now = 59_999
  t.is(reason(), 'away')
  failed('other', away)
  now = 60_000
  t.is(reason(), 'away')
  now = 120_000
  t.is(reason(), undefined)
})
