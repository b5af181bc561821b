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
    const size = adaptiveBatchSize()
    const commands = commandsFor(5_000, size, latency)
    t.true(commands <= 50, `${commands} commands of ${latency} ms`)
    t.true(size.current() >= 100, `${size.current()} changes`)
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

const commandsFor = (
  changes: number,
  { current, adapt }: ReturnType<typeof adaptiveBatchSize>,
  latency: number,
): number => {
  let commands = 0
  for (let left = changes; left > 0; commands += 1) {
    const batch = Math.min(current(), left)
    left -= batch
    adapt(batch, latency)
  }
  return commands
}

test('a batch of one change, as followers at the head write them, makes none smaller', (t) => {
  const size = adaptiveBatchSize()
  size.adapt(1, 1_100)
  t.is(size.current(), 100)
  t.true(commandsFor(5_000, size, 1_100) <= 50)
})

test('however many batches were not answered in time, they grow again where only the latency is left', (t) => {
  for (let timeouts = 1; timeouts <= 8; timeouts += 1) {
    for (const latency of [700, 1_100, 2_400]) {
      const size = adaptiveBatchSize()
      for (let timeout = 0; timeout < timeouts; timeout += 1) size.timedOut(size.current())
      const commands = commandsFor(5_000, size, latency)
      t.true(commands <= 50, `${commands} commands of ${latency} ms after ${timeouts} timeouts`)
    }
  }
})

test('a server that was slow for each change and is not any more gets large batches again', (t) => {
  for (const costOfOne of [400, 1_000, 2_300]) {
    const size = adaptiveBatchSize()
    for (let batch = 0; batch < 20; batch += 1) size.adapt(size.current(), costOfOne * size.current())
    t.true(size.current() <= 3, `${size.current()} changes at ${costOfOne} ms each`)
    const commands = commandsFor(5_000, size, 700)
    t.true(commands <= 50, `${commands} commands after ${costOfOne} ms for each change`)
  }
})

test('where one change alone takes so long that two may not be done before the timeout of the socket, two are not tried', (t) => {
  const { current, adapt, timedOut } = adaptiveBatchSize()
  for (let timeout = 0; timeout < 8; timeout += 1) timedOut(current())
  adapt(1, 2_600)
  t.is(current(), 1)
})
