import type { Position } from '../../domain/event.js'
import type { Category } from '../../domain/events.js'
import type { EventBatch, EventStore } from '../../domain/ports.js'
import { UndecodableEvent } from '../../domain/store-failed.js'

/** The history without the events that can't be decoded: whoever follows the log parks them. */
export async function* decodableHistory(
  { history }: Pick<EventStore, 'history'>,
  after: Position,
  categories: ReadonlyArray<Category>,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  let position = after
  for (;;) {
    try {
      for await (const batch of history(position, categories, signal)) {
        position = batch.position
        yield batch
      }
      return
    } catch (error) {
      if (!(error instanceof UndecodableEvent)) throw error
      position = error.entry.position
    }
  }
}
