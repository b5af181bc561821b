import type { Time } from '../../../domain/ports.js'
import { isTimeout } from '../failure.js'
import { adaptiveBatchSize } from './batch-size.js'

/** Writes any number of documents, batch by batch. Throws what `write` throws. */
export const batchesAt = ({ now }: Pick<Time, 'now'>) => {
  const size = adaptiveBatchSize()
  return async <A>(all: ReadonlyArray<A>, write: (batch: ReadonlyArray<A>) => Promise<void>): Promise<void> => {
    for (let done = 0; done < all.length;) {
      const batch = all.slice(done, done + size.current())
      const start = now()
      try {
        await write(batch)
      } catch (error) {
        if (isTimeout(error)) size.timedOut(batch.length)
        throw error
      }
      size.adapt(batch.length, now() - start)
      done += batch.length
    }
  }
}
