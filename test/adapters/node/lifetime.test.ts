import test from 'ava'
import { lifetimeOf } from '../../../adapters/node/lifetime.js'

test('a pause of the machine counts, and what the clock on the wall is set back by does not', (t) => {
  let [monotonic, wall] = [0, 1_000_000]
  const lifetime = lifetimeOf(
    () => monotonic,
    () => wall,
  )
  const pass = (milliseconds: number, paused = 0): number => {
    monotonic += milliseconds
    wall += milliseconds + paused
    return lifetime()
  }
  t.is(pass(1_000), 1_000)
  t.is(pass(1_000, 5_000), 7_000)
  t.is(pass(1_000, -60_000), 8_000)
  t.is(pass(1_000, 5_000), 14_000)
})

test('two clocks that count in other steps make no pause, however often they are looked at', (t) => {
  let monotonic = 0
  const lifetime = lifetimeOf(
    () => monotonic,
    () => Math.floor(monotonic / 16) * 16,
  )
  for (let look = 0; look < 1_000; look += 1) {
    monotonic += 0.7
    t.true(Math.abs(lifetime() - monotonic) < 1e-6)
  }
})
