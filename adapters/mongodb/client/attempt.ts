import type { Db } from 'mongodb'
import { over } from '../../../domain/abortable.js'
import type { MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import type { Either } from '../../../domain/prelude.js'
import { monotonicClock } from '../../node/monotonic-clock.js'
import { OperationFailed, tryCatch } from '../failure.js'

/**
 * Runs an operation and resolves with its result, or with its failure. `givenUp` aborts where it has failed although it
 * has not ended: what it still does is up to it, and whoever waited goes on.
 */
export type Attempt = <A>(operation: (givenUp: AbortSignal) => Promise<A>) => Promise<Either<StoreFailure, A>>

/** In milliseconds: what a client that is closed breaks off says itself why. */
const grace = 1_000

/**
 * Attempts of operations on a database. What does not end when its client is closed has failed: where an operation
 * hangs the client is closed to connect anew (`hangs.ts`), and nobody else would end that one.
 */
export const attemptOn =
  ({ client }: Pick<Db, 'client'>, { sleep }: Pick<MonotonicClock, 'sleep'> = monotonicClock): Attempt =>
  async (operation) => {
    const givenUp = new AbortController()
    const ended = new AbortController()
    let giveUp: () => void = () => undefined
    const closed = new Promise<never>((_, reject) => {
      giveUp = () =>
        void sleep(grace, ended.signal).then(() => {
          if (ended.signal.aborted) return
          reject(new OperationFailed({ kind: 'unavailable', reason: 'MongoDB did not answer at all' }))
          givenUp.abort(over)
        })
    })
    client.once('topologyClosed', giveUp)
    const attempted = await tryCatch(() => Promise.race([operation(givenUp.signal), closed]))
    client.off('topologyClosed', giveUp)
    ended.abort(over)
    return attempted
  }
