import { beginning, type Position } from '../../domain/event.js'
import type { EventBatch, EventStore, Time } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Collection, Documents } from '../ports.js'

/**
 * How far a follower has come in the log. It is saved now and then: what lies between is handled a second time after a
 * crash, which changes nothing.
 */
export type Checkpoint = {
  readonly load: () => Promise<Position>
  /** Saves that a batch is handled, where the last position saved is an interval older. */
  readonly advance: (batch: EventBatch) => Promise<void>
  /** Saves at the end; a failure is ignored, since what was not saved is handled again and changes nothing. */
  readonly flush: (position: Position) => Promise<void>
}

/** The collection that holds nothing but the checkpoint `name`. */
export const checkpointCollection = (name: string): Collection => ({
  name,
  version: 1,
  indexes: {},
  generation: 'live',
})

/** `interval`: the positions between two saves at least. */
export const checkpointIn = (documents: Documents, name: string, interval: bigint): Checkpoint => {
  const collection = checkpointCollection(name)
  let saved = beginning

  return {
    load: async () => {
      orThrow(await documents.prepare(collection))
      saved = orThrow(await documents.checkpoint(collection))
      return saved
    },
    advance: async ({ position }) => {
      if (position - saved < interval) return
      orThrow(await documents.apply(collection, [], position))
      saved = position
    },
    flush: async (position) => {
      if (position > saved) await documents.apply(collection, [], position)
    },
  }
}

/** In milliseconds, between two saves in the event store at least: each is an append there. */
const savedEvery = 5_000

/**
 * The same checkpoint, saved in the event store now and then as well, so that the documents can be thrown away. Neither of the
 * two runs ahead of what was done, so it goes on from the further one. Only events that were handled move the one in the event store:
 * were it moved by the log alone, on a server its own saves would move it for ever.
 */
export const alsoInEventStore = (
  checkpoint: Checkpoint,
  name: string,
  {
    store,
    time,
  }: { readonly store: Pick<EventStore, 'checkpoint' | 'saveCheckpoint'>; readonly time: Pick<Time, 'now'> },
): Checkpoint => {
  let saved = beginning
  let savedAt = time.now()
  let handled = beginning

  return {
    load: async () => {
      const inDocuments = await checkpoint.load()
      saved = orThrow(await store.checkpoint(name))
      savedAt = time.now()
      // Older versions saved nothing here.
      handled = saved === beginning ? inDocuments : saved
      return saved > inDocuments ? saved : inDocuments
    },
    advance: async (batch) => {
      await checkpoint.advance(batch)
      if (batch.events.length > 0) handled = batch.position
      if (handled <= saved || time.now() - savedAt < savedEvery) return
      orThrow(await store.saveCheckpoint(name, handled))
      saved = handled
      savedAt = time.now()
    },
    flush: async (position) => {
      await checkpoint.flush(position)
      if (handled > saved) await store.saveCheckpoint(name, handled)
    },
  }
}
