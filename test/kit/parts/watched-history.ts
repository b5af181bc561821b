import type { EventStore } from '../../../domain/ports.js'

type WatchedHistory = {
  readonly store: EventStore
  /** The events that were read of the history, and the batches. */
  readonly read: { events: number; batches: number }
  /** Where each reading of the history began. */
  readonly begun: Array<bigint>
}

/** The same store, whose history is counted. */
export const watchedHistory = (store: EventStore): WatchedHistory => {
  const read = { events: 0, batches: 0 }
  const begun: Array<bigint> = []
  async function* history(...range: Parameters<EventStore['history']>): ReturnType<EventStore['history']> {
    begun.push(range[0])
    for await (const batch of store.history(...range)) {
      read.events += batch.events.length
      read.batches += 1
      yield batch
    }
  }
  return { store: { ...store, history }, read, begun }
}
