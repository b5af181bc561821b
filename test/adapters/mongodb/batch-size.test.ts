import test from 'ava'
import { adaptiveBatchSize } from '../../../adapters/mongodb/batch-size.js'

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
