import type { AppendAll, Conflict, EventStore, MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'

type Appends = { readonly store: EventStore; readonly appendAll: AppendAll | undefined }

/** For so long a refusal counts where nobody appends after it, in milliseconds. */
export const longestRefusal = 60_000

/**
 * The same store, and why it took nothing at the last append; undefined where it did, or where that is long ago. A log
 * that takes nothing can still be read, as on a full disk: no read tells of it.
 */
export const watchedAppends = <A extends Appends>(
  stores: A,
  monotonic: Pick<MonotonicClock, 'now'>,
): A & { readonly appendFailure: () => string | undefined } => {
  let refusal: { readonly reason: string; readonly at: number } | undefined
  const watched = async <T>(append: Promise<Either<StoreFailure | Conflict, T>>) => {
    const appended = await append
    if (E.isRight(appended)) refusal = undefined
    else if (appended.left.kind === 'unavailable') refusal = { reason: appended.left.reason, at: monotonic.now() }
    return appended
  }
  const { store, appendAll } = stores
  return {
    ...stores,
    store: { ...store, append: (stream, expected, events) => watched(store.append(stream, expected, events)) },
    appendAll: appendAll && ((appends) => watched(appendAll(appends))),
    appendFailure: () =>
      refusal === undefined || monotonic.now() - refusal.at > longestRefusal ? undefined : refusal.reason,
  }
}
