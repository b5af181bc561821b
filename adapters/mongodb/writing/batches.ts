import type { MonotonicClock } from '../../../domain/ports.js'
import { isTimeout, OperationFailed } from '../failure.js'
import { adaptiveBatchSize } from './batch-size.js'

/** Writes any number of documents, batch by batch, and no more once `givenUp` aborts. Throws what `write` throws. */
export const batchesAt = ({ now }: Pick<MonotonicClock, 'now'>) => {
  const size = adaptiveBatchSize()
  return async <A>(
    all: ReadonlyArray<A>,
    write: (batch: ReadonlyArray<A>) => Promise<void>,
    givenUp: AbortSignal,
  ): Promise<void> => {
    for (let done = 0; done < all.length;) {
      const batch = all.slice(done, done + size.current())
      // What a server that fell silent does not read any more may hang, and then no timeout tells of it.
      const hang = (): void => size.timedOut(batch.length)
      const start = now()
      givenUp.addEventListener('abort', hang)
      try {
        await write(batch)
      } catch (error) {
        if (isTimeout(error)) size.timedOut(batch.length)
        throw error
      } finally {
        givenUp.removeEventListener('abort', hang)
      }
      // Whoever waited has gone on, and may write the same documents by now.
      if (givenUp.aborted) throw new OperationFailed({ kind: 'unavailable', reason: 'a write was given up' })
      size.adapt(batch.length, now() - start)
      done += batch.length
    }
  }
}
