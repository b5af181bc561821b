import test from 'ava'
import { attempts } from '../../../../app/cli/rebuild/retries.js'
import { leasesOn } from '../../../../app/cli/rebuild/leases.js'
import type { StoreFailure } from '../../../../domain/ports.js'
import { StoreFailed } from '../../../../domain/store-failed.js'
import { CannotFollow } from '../../../../projections/projection.js'
import type { Membership } from '../../../../projections/subscriptions/leases.js'
import { testLease } from '../../../kit/parts/lease.js'
import { settled } from '../../../kit/time/turns.js'

const away: StoreFailure = { kind: 'unavailable', reason: 'away' }

const openAttempts = () => {
  const told: Array<string> = []
  const waits: Array<number> = []
  const trying = attempts({
    backoff: (failures) => {
      waits.push(failures)
      return Promise.resolve()
    },
    tell: (reason) => void told.push(reason),
  })
  return { ...trying, told, waits }
}

test('what a store fails at for now is done again, and few of the failures are told', async (t) => {
  const { until, wentOn, told, waits } = openAttempts()
  const failing = (times: number) => {
    let tries = 0
    return () => {
      tries += 1
      return tries > times ? Promise.resolve(tries) : Promise.reject(new StoreFailed(away))
    }
  }
  t.is(await until(failing(20)), 21)
  t.deepEqual(told, Array(5).fill('away'))
  t.deepEqual(waits, [...Array(20).keys()])
  wentOn()
  await until(failing(1))
  t.is(waits.at(-1), 0, 'after something was done the first wait is a short one')
  t.is(told.length, 6)
})

for (const [what, error] of Object.entries({
  'an event that can not be folded': new CannotFollow('it can not be folded'),
  'a store that is damaged': new StoreFailed({ kind: 'corrupt', reason: 'damaged' }),
  'what an operator has to mend': new StoreFailed({ ...away, needsOperator: true }),
  'a mistake of ours': new TypeError('undefined'),
}))
  test(`${what} ends a rebuild at once`, async (t) => {
    const { until, told, waits } = openAttempts()
    t.is(await t.throwsAsync(until(() => Promise.reject(error))), error)
    t.deepEqual([told, waits], [[], []])
  })

test('leases of which one was lost do not hold any more, though it is acquired anew', async (t) => {
  let acquire: Parameters<Membership['share']>[2] = () => Promise.resolve()
  const share: Membership['share'] = (_work, _names, begin) => void (acquire = begin)
  const { acquired, held } = leasesOn({ share }, ['contacts', 'deliveries'])
  const [contacts, deliveries] = [testLease('contacts'), testLease('deliveries')]
  void acquire(contacts)
  t.false(held().isValid())
  void acquire(deliveries)
  t.true(await acquired)
  const before = held()
  t.true(before.isValid())
  deliveries.expire()
  await settled()
  t.false(held().isValid())
  void acquire(testLease('deliveries'))
  t.true(held().isValid())
  t.false(before.isValid())
})
