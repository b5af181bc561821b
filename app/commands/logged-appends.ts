import type { EventStore, Logger } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'

/**
 * The same store, which logs each event that it appends at the level `debug`: the way of one lead, from the submission
 * to the answer of a webhook, are the lines with its correlation id.
 */
export const loggedAppends = (store: EventStore, logger: Pick<Logger, 'debug'>): EventStore => ({
  ...store,
  append: async (stream, expected, events) => {
    const appended = await store.append(stream, expected, events)
    if (E.isLeft(appended)) return appended
    for (const { type, correlationId: correlation_id, actor } of events) {
      logger.debug({ correlation_id, type, stream, actor }, 'an event was appended')
    }
    return appended
  },
})
