import type { Category } from '../../domain/events.js'
import type { Position } from '../../domain/event.js'
import type { EventBatch, EventStore } from '../../domain/ports.js'
import { categoryOf } from '../../domain/stream-name.js'
import { decodedPart, type LogTail } from './log-tail.js'

/** Events in one batch at most. */
const pageSize = 500

/**
 * Reads the history until it reaches the tail of the log, and the tail from there on: without gap or repeat, no faster
 * than the consumer takes it. A consumer that lags until the tail has dropped its next event reads the history again.
 */
export async function* liveSubscription(
  tail: LogTail,
  history: EventStore['history'],
  after: Position,
  categories: ReadonlyArray<Category>,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  const wanted = new Set<string>(categories)
  const isAborted = (): boolean => signal.aborted
  let position = after
  while (!isAborted()) {
    const batch = tail.after(position, (entry) => wanted.has(categoryOf(entry.stream)), pageSize)
    if (batch === undefined) {
      try {
        for await (const old of history(position, categories, signal)) {
          if (isAborted()) return
          position = old.position
          yield old
        }
      } catch (error) {
        if (isAborted()) return
        throw error
      }
    } else if (batch.position > position) {
      const decoded = decodedPart(batch)
      position = decoded.position
      yield decoded
    } else {
      await tail.changed(signal)
    }
  }
}
