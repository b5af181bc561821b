import { beginning, type Position } from '../../domain/event.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Collection, Documents } from '../ports.js'

/** How far something has come that keeps no documents. It is saved now and then: repeating what it did is harmless. */
export type Checkpoint = {
  readonly load: () => Promise<Position>
  /** Saves `position` when the last one saved lies far enough behind. */
  readonly advance: (position: Position) => Promise<void>
  readonly save: (position: Position) => Promise<void>
  /** Saves at the end; what could not be saved is looked at once more, and found done. */
  readonly flush: (position: Position) => Promise<void>
}

/** The collection that holds nothing but the checkpoint `name`. */
export const checkpointCollection = (name: string): Collection => ({
  name,
  version: 1,
  indexes: {},
  generation: 'live',
})

/** `interval`: positions between two saves, which are looked at once more after a crash. */
export const checkpointIn = (documents: Documents, name: string, interval: Position): Checkpoint => {
  const collection = checkpointCollection(name)
  let saved = beginning

  const save = async (position: Position): Promise<void> => {
    if (position <= saved) return
    orThrow(await documents.apply(collection, [], position))
    saved = position
  }
  return {
    load: async () => {
      orThrow(await documents.prepare(collection))
      saved = orThrow(await documents.checkpoint(collection))
      return saved
    },
    advance: async (position) => {
      if (position - saved >= interval) await save(position)
    },
    save,
    flush: async (position) => {
      if (position > saved) await documents.apply(collection, [], position)
    },
  }
}
