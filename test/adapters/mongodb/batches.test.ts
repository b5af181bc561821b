import test from 'ava'
import { batchesAt } from '../../../adapters/mongodb/writing/batches.js'

test('a write that is given up writes no more, and the next one begins with half as many', async (t) => {
  const inBatches = batchesAt({ now: () => 0 })
  const sizes: Array<number> = []
  const all = Array.from({ length: 250 }, (_, n) => n)
  const givenUp = new AbortController()
  const late = inBatches(
    all,
    (batch) => {
      sizes.push(batch.length)
      givenUp.abort()
      return Promise.resolve()
    },
    givenUp.signal,
  )
  await t.throwsAsync(late, { message: 'a write was given up' })
  t.deepEqual(sizes, [100])
  await inBatches(all, (batch) => Promise.resolve(void sizes.push(batch.length)), new AbortController().signal)
  t.is(sizes[1], 50)
  t.is(
    sizes.slice(1).reduce((sum, size) => sum + size, 0),
    250,
  )
})
