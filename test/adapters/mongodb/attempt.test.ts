import test from 'ava'
import { MongoClient } from 'mongodb'
import type { EventEmitter } from 'node:events'
import { attemptOn } from '../../../adapters/mongodb/client/attempt.js'
import { E } from '../../../domain/prelude.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { isOver, settled } from '../../kit/time/turns.js'

/** Attempts on a client that reaches nobody, whose end the test makes. */
const open = () => {
  const client = new MongoClient('mongodb://127.0.0.1:9')
  const time = manualTime()
  return {
    attempt: attemptOn({ client }, time.process()),
    time,
    close: (): void => void (client as EventEmitter).emit('topologyClosed'),
    listeners: () => client.listenerCount('topologyClosed'),
  }
}

const never = () => new Promise<never>(() => undefined)

test('what never ends has failed a second after its client was closed, and is told that it was given up', async (t) => {
  const { attempt, time, close } = open()
  let signal: AbortSignal | undefined
  const attempted = attempt((givenUp) => {
    signal = givenUp
    return never()
  })
  close()
  await time.advance(999)
  t.false(await isOver(attempted))
  await time.advance(1)
  t.deepEqual(await attempted, E.left({ kind: 'unavailable', reason: 'MongoDB did not answer at all' }))
  t.true(signal?.aborted)
})

test('what ends by itself, before its client is closed or soon after, says how', async (t) => {
  const { attempt, time, close, listeners } = open()
  t.deepEqual(await attempt(() => Promise.resolve(1)), E.right(1))
  t.is(listeners(), 0)
  let fail: (error: Error) => void = () => undefined
  let signal: AbortSignal | undefined
  const attempted = attempt((givenUp) => {
    signal = givenUp
    return new Promise<never>((_, reject) => (fail = reject))
  })
  close()
  fail(new Error('broken'))
  t.like(await attempted, { left: { reason: 'MongoDB can not be asked (Error)' } })
  await time.advance(2_000)
  await settled()
  t.false(signal?.aborted)
})

test('what begins after the client was closed, and connects anew, is not given up with what was open before', async (t) => {
  const { attempt, time, close } = open()
  close()
  const attempted = attempt(never)
  await time.advance(60_000)
  t.false(await isOver(attempted))
})
