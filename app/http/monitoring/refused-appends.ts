import type { Conflict, MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'

/** For so long a refusal counts where nobody appends after it, in milliseconds. */
export const longestRefusal = 60_000

/**
 * Observes why the log took nothing at the last append; undefined where it did, or where that is long ago. A log that
 * takes nothing can still be read, as on a full disk: no read tells of it.
 */
export const refusedAppends = (monotonic: Pick<MonotonicClock, 'now'>) => {
  let refusal: { readonly reason: string; readonly at: number } | undefined
  return {
    observe: (_appends: unknown, appended: Either<StoreFailure | Conflict, unknown>): void => {
      if (E.isRight(appended)) refusal = undefined
      else if (appended.left.kind === 'unavailable') refusal = { reason: appended.left.reason, at: monotonic.now() }
    },
    appendFailure: (): string | undefined =>
      refusal === undefined || monotonic.now() - refusal.at > longestRefusal ? undefined : refusal.reason,
  }
}
