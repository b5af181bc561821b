import test from 'ava'
import { deadlines, type Limited } from '../../../adapters/webhook/deadlines.js'
import { manualTime } from '../../kit/time/manual-time.js'

/** Deadlines, and in which order they were handled. `slept`: how many timers were set. */
const watched = () => {
  const time = manualTime()
  const handled: Array<string> = []
  let slept = 0
  const { now, sleep } = time.process()
  const limits = deadlines({
    now,
    sleep: (milliseconds, signal) => {
      slept += 1
      return sleep(milliseconds, signal)
    },
  })
  const limited = (name: string, deadline: number): Limited & { deadline: number } => ({
    deadline,
    handleDeadline: () => handled.push(`${name} at ${now()}`),
  })
  return { time, limits, limited, handled, slept: () => slept }
}

test('each deadline is handled once, when it is over and not before', async (t) => {
  const { time, limits, limited, handled } = watched()
  for (const [name, deadline] of Object.entries({ c: 3_000, a: 1_000, b: 1_000.5 }))
    limits.watch(limited(name, deadline))
  await time.advance(999)
  t.deepEqual(handled, [])
  await time.advance(10_000)
  t.deepEqual(handled, ['a at 1000', 'b at 1001', 'c at 3000'])
})

test('what is forgotten, or has come to an end with all others, is handled no more', async (t) => {
  const { time, limits, limited, handled } = watched()
  const [one, other, last] = [limited('one', 1_000), limited('other', 2_000), limited('last', 3_000)]
  for (const each of [one, other, last]) limits.watch(each)
  limits.forget(one)
  await time.advance(2_000)
  t.deepEqual(handled, ['other at 2000'])
  limits.close()
  await time.advance(10_000)
  t.deepEqual(handled, ['other at 2000'])
})

test('a deadline may move on, and come nearer', async (t) => {
  const { time, limits, limited, handled } = watched()
  const one = limited('one', 1_000)
  limits.watch(one)
  one.deadline = 4_000
  limits.watch(one)
  await time.advance(2_000)
  t.deepEqual(handled, [])
  one.deadline = 3_000
  limits.watch(one)
  await time.advance(2_000)
  t.deepEqual(handled, ['one at 3000'])
})

test('thousands of requests one after the other share a timer each three seconds', async (t) => {
  const { time, limits, limited, slept } = watched()
  for (let n = 0; n < 3_000; n += 1) {
    const one = limited(`${n}`, time.now() + 3_000)
    limits.watch(one)
    await time.advance(1)
    limits.forget(one)
  }
  t.true(slept() <= 2, `${slept()} timers`)
})
