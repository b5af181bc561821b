import { UnavailableError, WrongExpectedVersionError, StreamNotFoundError } from '@eventstore/db-client'
import { Metadata, status } from '@grpc/grpc-js'
import test from 'ava'
import type { ReconnectingClient } from '../../../adapters/eventstoredb/client/reconnecting-client.js'
import { retryingWith, standardRetryPolicy, type RetryPolicy } from '../../../adapters/eventstoredb/retry.js'
import { E } from '../../../domain/prelude.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { until } from '../../kit/time/until.js'

const away = new UnavailableError(
  Object.assign(new Error('away'), { code: status.UNAVAILABLE, details: '', metadata: new Metadata() }),
)

/**
 * A client that notes what it is told, and a call that fails as often as there are errors, and notes when it was made.
 */
const open = (errors: ReadonlyArray<Error>, policy: RetryPolicy = standardRetryPolicy) => {
  const told: Array<string> = []
  const client: ReconnectingClient = {
    current: () => {
      throw new Error('nobody asks for the client')
    },
    answered: () => void told.push('answered'),
    failed: ({ kind }) => void told.push(kind),
    close: () => Promise.resolve(),
  }
  const time = manualTime()
  const closing = new AbortController()
  const retry = retryingWith(policy, time.process(), closing.signal)
  const calledAt: Array<number> = []
  const call = (): Promise<string> => {
    const error = errors[calledAt.length]
    calledAt.push(time.now())
    return error === undefined ? Promise.resolve('answer') : Promise.reject(error)
  }
  return { told, client, time, closing, retry, call, calledAt }
}

test('a call that fails is repeated, with a wait that doubles, until it is answered', async (t) => {
  const { told, client, time, retry, call, calledAt } = open([away, away, away])
  const answer = retry(client, call)
  await time.advance(3_000)
  t.deepEqual(await answer, E.right('answer'))
  t.deepEqual(calledAt, [0, 50, 150, 350])
  t.deepEqual(told, ['retryable', 'retryable', 'retryable', 'answered'])
})

test('a call that goes on failing is unavailable after three seconds', async (t) => {
  const { client, time, retry, call, calledAt } = open(Array<Error>(20).fill(away))
  const answer = retry(client, call)
  await time.advance(3_000)
  t.deepEqual(await answer, E.left({ kind: 'unavailable', reason: 'the event store answered unavailable (14)' }))
  t.deepEqual(calledAt, [0, 50, 150, 350, 750, 1_550])
})

test('a repeat that hangs ends when the time for all of them is over', async (t) => {
  const policy = { callTimeout: 3_600_000, retryFor: 60, backoff: { first: 50, longest: 5_000 } }
  const { client, time, retry } = open([], policy)
  let calls = 0
  const answer = retry(client, () => {
    calls += 1
    return calls === 1 ? Promise.reject(away) : new Promise<string>(() => undefined)
  })
  await time.advance(50)
  t.deepEqual(await answer, E.left({ kind: 'unavailable', reason: 'the event store answered unavailable (14)' }))
})

test('a conflict is answered at once', async (t) => {
  const conflict = new WrongExpectedVersionError(undefined, { streamName: 's', expected: 1n, current: 2n })
  const { told, client, retry, call, calledAt } = open([conflict])
  t.deepEqual(await retry(client, call), E.left({ kind: 'conflict' }))
  t.deepEqual(calledAt, [0])
  t.deepEqual(told, [])
})

test('a missing stream has the answer that the caller gives for it', async (t) => {
  const { client, retry, call } = open([new StreamNotFoundError(undefined, 's')])
  t.deepEqual(await retry(client, call, 'nothing'), E.right('nothing'))
})

test('a call that is not answered in time is cancelled and repeated', async (t) => {
  const { client, time, retry } = open([], { ...standardRetryPolicy, callTimeout: 1 })
  let calls = 0
  let cancelled = 0
  const answer = retry(client, (cancellation) => {
    calls += 1
    if (calls > 1) return Promise.resolve('answer')
    return new Promise<string>(() => {
      cancellation.cancel = () => (cancelled += 1)
    })
  })
  await until('the call is cancelled', 60_000, () => cancelled > 0)
  await time.advance(50)
  t.deepEqual(await answer, E.right('answer'))
  t.is(cancelled, 1)
})

test('a store that closes waits for no further attempt', async (t) => {
  const { client, time, closing, retry, call, calledAt } = open(Array<Error>(20).fill(away))
  const answer = retry(client, call)
  await time.advance(100)
  closing.abort()
  t.like(await answer, { left: { kind: 'unavailable' } })
  t.deepEqual(calledAt, [0, 50, 100])
})
