import test from 'ava'
import { semaphore } from '../../domain/semaphore.js'
import { settled } from '../kit/time/turns.js'

type Task = { readonly end: () => void; readonly fail: () => void }

/** Tasks for two permits. Each runs until the test ends it. */
const openStage = () => {
  const limited = semaphore(2)
  const begun = new Map<string, Task>()
  const then = async (end: (() => void) | undefined): Promise<void> => {
    end?.()
    await settled()
  }
  return {
    names: () => [...begun.keys()],
    ask: async (name: string, signal?: AbortSignal): Promise<void> => {
      const running = limited(
        () =>
          new Promise<void>((end, reject) =>
            begun.set(name, { end, fail: () => reject(new Error('the test says so')) }),
          ),
        signal,
      )
      running.catch(() => undefined)
      await settled()
    },
    end: (name: string) => then(begun.get(name)?.end),
    fail: (name: string) => then(begun.get(name)?.fail),
  }
}

test('so many tasks run at the same time, and the others in the order in which they came', async (t) => {
  const { ask, end, fail, names } = openStage()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await ask(name)
  t.deepEqual(names(), ['a', 'b'])
  await end('b')
  t.deepEqual(names(), ['a', 'b', 'c'])
  await fail('a')
  t.deepEqual(names(), ['a', 'b', 'c', 'd'])
  for (const name of ['c', 'd', 'e']) await end(name)
  for (const name of ['f', 'g', 'h']) await ask(name)
  t.deepEqual(names(), ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
})

test('a task whose signal has aborted keeps no other waiting, and gives its permit back once', async (t) => {
  const { ask, end, names } = openStage()
  const ending = new AbortController()
  await ask('a', ending.signal)
  for (const name of ['b', 'c', 'd']) await ask(name)
  ending.abort()
  await settled()
  t.deepEqual(names(), ['a', 'b', 'c'])
  await end('a')
  t.deepEqual(names(), ['a', 'b', 'c'])
})

test('a task that waits when its signal aborts is run at once, and takes no permit', async (t) => {
  const { ask, end, names } = openStage()
  const ending = new AbortController()
  for (const name of ['a', 'b']) await ask(name)
  await ask('c', ending.signal)
  await ask('d')
  ending.abort()
  await settled()
  t.deepEqual(names(), ['a', 'b', 'c'])
  await end('c')
  t.deepEqual(names(), ['a', 'b', 'c'])
  await end('a')
  t.deepEqual(names(), ['a', 'b', 'c', 'd'])
  await ask('e', ending.signal)
  t.deepEqual(names(), ['a', 'b', 'c', 'd', 'e'])
})
