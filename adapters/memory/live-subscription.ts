import { categoryOf, type Category } from '../../domain/events.js'
import type { Position } from '../../domain/event.js'
import type { EventBatch, EventStore } from '../../domain/ports.js'
import { readableOf, type RecentEvents } from './recent-events.js'

/** Events in one batch at most. */
const pageSize = 500

/** History until what is remembered of the end of the log joins on, then live: without gap or repeat, at the consumer's pace. */
export async function* liveSubscription(
  recent: RecentEvents,
  history: EventStore['history'],
  after: Position,
  categories: ReadonlyArray<Category>,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  const wanted = new Set<string>(categories)
  const isOver = (): boolean => signal.aborted
  let position = after
  while (!isOver()) {
    const batch = recent.after(position, (entry) => wanted.has(categoryOf(entry.stream)), pageSize)
    if (batch === undefined) {
      for await (const old of history(position, categories)) {
        if (isOver()) return
        position = old.position
        yield old
      }
    } else if (batch.position > position) {
      const readable = readableOf(batch)
      position = readable.position
      yield readable
    } else {
      await recent.changed(signal)
    }
  }
}
