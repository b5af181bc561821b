import type { AppendAll, EventStore, Logger } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'

type Appends = { readonly store: EventStore; readonly appendAll: AppendAll | undefined }
type Lines = ReadonlyArray<{ readonly type: string; readonly correlationId: string; readonly actor: string }>

/**
 * The same store, which logs each event that it appends at the level `debug`: the way of one lead, from the submission
 * to the answer of a webhook, are the lines with its correlation id.
 */
export const loggedAppends = ({ store, appendAll }: Appends, logger: Pick<Logger, 'debug'>): Appends => {
  const log = (stream: string, events: Lines): void => {
    for (const { type, correlationId: correlation_id, actor } of events) {
      logger.debug({ correlation_id, type, stream, actor }, 'an event was appended')
    }
  }
  return {
    store: {
      ...store,
      append: async (stream, expected, events) => {
        const appended = await store.append(stream, expected, events)
        if (E.isRight(appended)) log(stream, events)
        return appended
      },
    },
    appendAll:
      appendAll &&
      (async (appends) => {
        const appended = await appendAll(appends)
        if (E.isRight(appended)) for (const { stream, events } of appends) log(stream, events)
        return appended
      }),
  }
}
