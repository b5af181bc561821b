import test from 'ava'
import { turnEnd } from '../../../app/http/turn-end.js'
import { nextTurn } from '../../kit/time/turns.js'

test('all who wait in one turn go on together at its end, before anybody of the next one', async (t) => {
  const told: Array<string> = []
  const wait = (name: string): Promise<unknown> => turnEnd().then(() => told.push(name))
  const first = wait('first')
  await Promise.resolve()
  const second = wait('second')
  t.deepEqual(told, [])
  await nextTurn()
  t.deepEqual(told, ['first', 'second'])
  const third = wait('third')
  t.deepEqual(told, ['first', 'second'])
  await Promise.all([first, second, third])
  t.deepEqual(told, ['first', 'second', 'third'])
})
