import type { Db } from 'mongodb'
import type { StoreFailure } from '../../domain/ports.js'
import type { Either } from '../../domain/prelude.js'
import { OperationFailed, tryCatch } from './failure.js'

/** Runs an operation and resolves with its result, or with its failure. */
export type Attempt = <A>(operation: () => Promise<A>) => Promise<Either<StoreFailure, A>>

/** In milliseconds: what a client that is closed still breaks off says itself why. */
const grace = 1_000

/**
 * Attempts of operations on a database. What does not end when its client is closed has failed: where an operation hangs the client is closed
 * to connect anew (`hangs.ts`), and nobody else would end that one.
 */
export const attemptOn =
  ({ client }: Pick<Db, 'client'>): Attempt =>
  async (operation) => {
    let timer: NodeJS.Timeout | undefined
    let giveUp: () => void = () => undefined
    const closed = new Promise<never>((_, reject) => {
      const failure = new OperationFailed({ kind: 'unavailable', reason: 'MongoDB did not answer at all' })
      giveUp = () => void (timer ??= setTimeout(reject, grace, failure))
    })
    client.on('topologyClosed', giveUp)
    const attempted = await tryCatch(() => Promise.race([operation(), closed]))
    client.off('topologyClosed', giveUp)
    clearTimeout(timer)
    return attempted
  }
