import { LRUCache } from 'lru-cache'
import { StoreFailed } from '../../domain/store-failed.js'
import { FailedForGood } from '../subscriptions/retries/failed-for-good.js'
import { finalReason } from './final-failure.js'

/** What throws so often in a row does so again: a rule that has an error is no reason to try for ever. */
const mostExceptions = 5

/** Streams whose exceptions are counted at most: work of one that is forgotten is tried five times more. */
const mostStreams = 10_000

/** Counts the exceptions in a row of work that is tried again, by the stream that records how it ends. */
type ExceptionsInARow = {
  /**
   * What work failed with, where that is for good. Once it was, the next exception is for good too.
   * @throws `error` where trying again may help
   */
  readonly finalFailure: (stream: string, error: unknown) => FailedForGood
  readonly succeeded: (stream: string) => void
}

export const exceptionsInARow = (): ExceptionsInARow => {
  // Not `max`, at which room for as many would be made at once.
  const counts = new LRUCache<string, number>({ maxSize: mostStreams, sizeCalculation: () => 1 })
  return {
    finalFailure: (stream, error) => {
      if (error instanceof FailedForGood) return error
      const reason = finalReason(error)
      if (!(error instanceof StoreFailed)) {
        const exceptions = (counts.get(stream) ?? 0) + 1
        counts.set(stream, exceptions)
        if (exceptions < mostExceptions) throw error
      }
      return new FailedForGood(stream, { kind: 'corrupt', reason })
    },
    succeeded: (stream) => void counts.delete(stream),
  }
}
