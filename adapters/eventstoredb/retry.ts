import type { Conflict, MonotonicClock, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { backoffAfter } from '../../projections/subscriptions/retries/backoff.js'
import { classify, timedOut, type ErrorClass } from './client/error-classification.js'
import type { ReconnectingClient } from './client/reconnecting-client.js'

/** All in milliseconds. */
export type RetryPolicy = {
  /**
   * How long one call may take. The driver itself sets no limit to reads and appends: where the server hangs they would
   * wait for ever.
   */
  readonly callTimeout: number
  /** How long a call that fails is repeated before its failure is returned; its first try may take longer. */
  readonly retryFor: number
  /** Waits between two attempts: the first one, doubled each time up to the longest. */
  readonly backoff: { readonly first: number; readonly longest: number }
}

export const standardRetryPolicy: RetryPolicy = {
  callTimeout: 2_500,
  retryFor: 3_000,
  backoff: { first: 50, longest: 5_000 },
}

/** Set by a call, to end it when it timed out. An AbortSignal for each append would cost too much. */
export type Cancellation = { cancel?: () => void }

/**
 * Repeats a call until it is answered, fails permanently or `retryFor` is over. `whenNotFound` answers for a stream
 * that is missing; without it a missing stream is retried like other failures.
 */
export type Retry = <A>(
  client: ReconnectingClient,
  call: (cancellation: Cancellation) => Promise<A>,
  whenNotFound?: A,
) => Promise<Either<StoreFailure | Conflict, A>>

/** Of a call without an expected revision that could conflict. */
export const withoutConflict = (failure: StoreFailure | Conflict): StoreFailure =>
  failure.kind === 'conflict' ? { kind: 'unavailable', reason: 'the event store answered with a conflict' } : failure

/** Once `stopping` aborts nothing is repeated any more. */
export const retryingWith =
  (policy: RetryPolicy, monotonic: MonotonicClock, stopping: AbortSignal): Retry =>
  async (client, call, whenNotFound) => {
    const deadline = monotonic.now() + policy.retryFor
    let reason: string = timedOut.reason
    for (let failures = 0; ; failures += 1) {
      // Whoever waits is told in time that the server hangs: a repeat has what is left.
      const limit = failures === 0 ? policy.callTimeout : Math.min(policy.callTimeout, deadline - monotonic.now())
      const answer = await withTimeout(call, limit)
      if (E.isRight(answer)) {
        client.answered()
        return answer
      }
      const error = answer.left
      if (error.kind === 'not-found' && whenNotFound !== undefined) return E.right(whenNotFound)
      if (error.kind === 'permanent') return E.left(error.failure)
      client.failed(error)
      // That a repeat was cut short says nothing of the server.
      if (error !== timedOut || limit === policy.callTimeout)
        reason = error.kind === 'retryable' ? error.reason : 'the event store knows no such stream'
      const wait = backoffAfter(policy.backoff, failures)
      if (stopping.aborted || monotonic.now() + wait > deadline) return E.left({ kind: 'unavailable', reason })
      await monotonic.sleep(wait, stopping)
    }
  }

/** Left: how the call failed, or that it was not answered within so many milliseconds and was cancelled. */
const withTimeout = <A>(
  call: (cancellation: Cancellation) => Promise<A>,
  milliseconds: number,
): Promise<Either<ErrorClass, A>> =>
  new Promise((resolve) => {
    const cancellation: Cancellation = {}
    const timer = setTimeout(() => {
      resolve(E.left(timedOut))
      cancellation.cancel?.()
    }, milliseconds)
    call(cancellation).then(
      (answer) => {
        clearTimeout(timer)
        resolve(E.right(answer))
      },
      (error: unknown) => {
        clearTimeout(timer)
        resolve(E.left(classify(error)))
      },
    )
  })
