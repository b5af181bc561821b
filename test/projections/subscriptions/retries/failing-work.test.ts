import test from 'ava'
import { StoreFailed } from '../../../../domain/store-failed.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { testLease } from '../../../kit/parts/lease.js'

const lease = testLease('shard')
const away = new StoreFailed({ kind: 'unavailable', reason: 'away' })

test('what a worker fails at is told of until all of it has ended', (t) => {
  const { failed, ended, reason } = failingWork({ now: () => 0 })
  t.is(reason(), undefined)
  failed(lease, 'one', away)
  failed(lease, 'other', away)
  t.is(reason(), 'away')
  ended('one')
  t.is(reason(), 'away')
  ended('other')
  t.is(reason(), undefined)
})

test('the message of an exception, which may hold a value, is not told', (t) => {
  const { failed, reason } = failingWork({ now: () => 0 })
  failed(lease, 'one', new TypeError('+14155550123 is no phone'))
  t.is(reason(), 'an exception (TypeError)')
})

test('what does not fail again for a minute is not tried any more', (t) => {
  let now = 0
  const { failed, reason } = failingWork({ now: () => now })
  failed(lease, 'one', away)
  now = 59_999
  t.is(reason(), 'away')
  failed(lease, 'other', away)
  now = 60_000
  t.is(reason(), 'away')
  now = 120_000
  t.is(reason(), undefined)
})

test('what failed under a lease that is lost or given back is not told of any more', (t) => {
  for (const end of ['expire', 'recall'] as const) {
    const { failed, reason } = failingWork({ now: () => 0 })
    const [one, other] = [testLease('one'), testLease('other')]
    failed(one, 'one', away)
    failed(other, 'other', new StoreFailed({ kind: 'unavailable', reason: 'slow' }))
    one[end]()
    t.is(reason(), 'slow')
    failed(one, 'one', away)
    other[end]()
    t.is(reason(), undefined)
  }
})

test('what fails newly hides nothing that fails for another reason: three of them are told, the newest first', (t) => {
  const { failed, ended, reason } = failingWork({ now: () => 0 })
  failed(lease, 'first', new RangeError())
  failed(lease, 'one', new StoreFailed({ kind: 'corrupt', reason: 'it can not be decoded' }))
  failed(lease, 'two', away)
  failed(lease, 'three', away)
  t.is(reason(), 'away; it can not be decoded; an exception (RangeError)')
  failed(lease, 'four', new TypeError())
  t.is(reason(), 'an exception (TypeError); away; it can not be decoded')
  for (const work of ['one', 'two', 'three', 'four']) ended(work)
  t.is(reason(), 'an exception (RangeError)')
})
