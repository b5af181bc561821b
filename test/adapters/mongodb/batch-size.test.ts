import test from 'ava'
import { adaptiveBatchSize } from '../../../adapters/mongodb/writing/batch-size.js'

test('batches grow as long as the server is done with a full one in half a second, up to a thousand changes', (t) => {
  const { current, adapt } = adaptiveBatchSize()
  t.is(current(), 100)
  adapt(100, 499)
  t.is(current(), 200)
  adapt(150, 1)
  t.is(current(), 200, 'a batch that was not full tells nothing')
  adapt(200, 500)
  t.is(current(), 200)
  for (let batch = 0; batch < 5; batch += 1) adapt(current(), 1)
  t.is(current(), 1_000)
})

test('a server that takes longer than a second gets as much as it does in one, and one change at least', (t) => {
  const { current, adapt } = adaptiveBatchSize()
  adapt(100, 4_000)
  t.is(current(), 25)
  adapt(25, 100_000)
  t.is(current(), 1)
})

test('a cost that every batch has, however small, makes none smaller', (t) => {
  for (const latency of [501, 1_100, 3_900]) {
    const { current, adapt } = adaptiveBatchSize()
    let commands = 0
    for (let left = 5_000; left > 0; commands += 1) {
      const batch = Math.min(current(), left)
      left -= batch
      adapt(batch, latency)
    }
    t.true(commands <= 50, `${commands} commands of ${latency} ms`)
    t.true(current() >= 100, `${current()} changes`)
  }
})

test('where both cost, a batch has as many changes as the server is done with in a second beside the latency', (t) => {
  const { current, adapt } = adaptiveBatchSize()
  for (let batch = 0; batch < 20; batch += 1) adapt(current(), 1_500 + 25 * current())
  t.true(current() >= 20 && current() <= 40, `${current()} changes`)
})

test('a batch that was not answered in time is halved, until one is, however long the server takes', (t) => {
  const { current, adapt, timedOut } = adaptiveBatchSize()
  for (const half of [50, 25, 12, 6, 3, 1, 1]) {
    timedOut(current())
    t.is(current(), half)
  }
  adapt(1, 10)
  t.is(current(), 2)
})
