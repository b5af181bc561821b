import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { fairQueue } from '../../../../projections/subscriptions/concurrent/fair-queue.js'
import { holds } from '../../../kit/domain/property.js'
import { accountId } from '../../../kit/domain/samples.js'

const places = { most: 3, mostOfAccount: 2 }
const work = (account: number, subject: number, n = 0) => ({
  account_id: accountId(account),
  subject: `${account}/${subject}`,
  n,
})

test('an account that has much to do leaves places to the others, which are served round-robin', (t) => {
  const queue = fairQueue<ReturnType<typeof work>>(places)
  for (let subject = 0; subject < 5; subject += 1) queue.add(work(1, subject))
  const [hanging] = queue.begin()
  for (const account of [2, 3]) for (const subject of [0, 1]) queue.add(work(account, subject))
  const begun: Array<string> = []
  let [next] = queue.begin()
  while (next !== undefined) {
    begun.push(next.subject)
    queue.end(next)
    next = queue.begin()[0]
  }
  t.is(hanging?.subject, '1/0')
  t.deepEqual(begun, ['2/0', '3/0', '2/1', '3/1'])
})

test('what concerns one subject is done in its order, within the places, and all of it is done', (t) => {
  const step = fc.record({ account: fc.nat(3), subject: fc.nat(2), ends: fc.array(fc.nat(2), { maxLength: 3 }) })
  holds(
    t,
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const queue = fairQueue<ReturnType<typeof work>>(places)
      const inFlight: Array<ReturnType<typeof work>> = []
      const done: Array<ReturnType<typeof work>> = []
      const begin = (): void => {
        inFlight.push(...queue.begin())
        assert.ok(inFlight.length <= places.most)
        for (const { account_id } of inFlight)
          assert.ok(inFlight.filter((one) => one.account_id === account_id).length <= places.mostOfAccount)
        assert.equal(new Set(inFlight.map(({ subject }) => subject)).size, inFlight.length)
      }
      const end = (index: number): void => {
        for (const one of inFlight.splice(index, 1)) {
          queue.end(one)
          done.push(one)
        }
        begin()
      }
      for (const [n, { account, subject, ends }] of steps.entries()) {
        queue.add(work(account, subject, n))
        begin()
        ends.forEach(end)
      }
      while (inFlight.length > 0) end(0)
      assert.equal(done.length, steps.length)
      for (const { subject } of done) {
        const inOrder = done.filter((one) => one.subject === subject).map(({ n }) => n)
        assert.deepEqual(
          inOrder,
          inOrder.toSorted((one, other) => one - other),
        )
      }
    }),
  )
})
