import type { AppendAll, Conflict, EventStore, Logger, StoreFailure, StreamAppend } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'

type Appends = { readonly store: EventStore; readonly appendAll: AppendAll | undefined }

/** Is told of each append how it ended. */
type AppendObserver = (appends: ReadonlyArray<StreamAppend>, appended: Either<StoreFailure | Conflict, unknown>) => void

/** The same store, whose appends are observed. */
export const observedAppends = <A extends Appends>(stores: A, observers: ReadonlyArray<AppendObserver>): A => {
  const { store, appendAll } = stores
  const observed = async <T extends Parameters<AppendObserver>[1]>(
    appends: ReadonlyArray<StreamAppend>,
    appending: Promise<T>,
  ): Promise<T> => {
    const appended = await appending
    for (const observe of observers) observe(appends, appended)
    return appended
  }
  return {
    ...stores,
    store: {
      ...store,
      append: (stream, expected, events) =>
        observed([{ stream, expected, events }], store.append(stream, expected, events)),
    },
    appendAll: appendAll && ((appends) => observed(appends, appendAll(appends))),
  }
}

/**
 * Logs each event that was appended at the level `debug`: the way of one lead, from the submission to the answer of a
 * webhook, are the lines with its correlation id.
 */
export const appendLog =
  (logger: Pick<Logger, 'debug'>): AppendObserver =>
  (appends, appended) => {
    if (E.isLeft(appended)) return
    for (const { stream, events } of appends) {
      for (const { type, correlationId: correlation_id, actor } of events) {
        logger.debug({ correlation_id, type, stream, actor }, 'an event was appended')
      }
    }
  }
