import { neverAborted } from '../../../domain/abortable.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import { isFinal, StoreFailed } from '../../../domain/store-failed.js'
import { isLogged, type Backoff } from '../../../projections/subscriptions/retries/backoff.js'

export type Attempts = {
  /**
   * Does the work again, from its beginning, until it succeeds.
   * @throws what waiting does not mend
   */
  readonly until: <A>(work: () => Promise<A>) => Promise<A>
  /** Whether what fails in this way is done again. */
  readonly isForNow: (error: unknown) => boolean
  /** Something was done: what fails from now on fails for the first time. */
  readonly wentOn: () => void
}

/** `tell`: is called with the reason of the first failure in a row, and then ever more seldom. */
type Ports = { readonly backoff: Backoff; readonly tell: (reason: string) => void }

export const attempts = ({ backoff, tell }: Ports): Attempts => {
  let failures = 0
  return {
    until: async (work) => {
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (!isForNow(error)) throw error
          if (isLogged(failures)) tell(reasonOf(error))
          await backoff(failures, neverAborted)
          failures += 1
        }
      }
    },
    isForNow,
    wentOn: () => {
      failures = 0
    },
  }
}

/** For the embedded store: what its disk refuses is told at once. */
export const oneAttempt: Attempts = { until: (work) => work(), isForNow: () => false, wentOn: () => undefined }

const isForNow = (error: unknown): boolean => error instanceof StoreFailed && !isFinal(error)
