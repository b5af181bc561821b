import { beginning, type Position } from '../domain/event.js'
import { orThrow } from '../domain/store-failed.js'
import type { Collection, Documents } from './ports.js'

/** How far something has come that keeps no documents. It is saved now and then: repeating what it did is harmless. */
export type Checkpoint = {
  readonly load: () => Promise<Position>
  /** Saves `position` when the last one saved lies far enough behind. */
  readonly passed: (position: Position) => Promise<void>
  readonly save: (position: Position) => Promise<void>
}

/** Positions between two saves: what is repeated at most after a crash. */
const interval = 500n

export const checkpointIn = (documents: Documents, name: string): Checkpoint => {
  const collection: Collection = { name, version: 1, indexes: {}, generation: 'live' }
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
    passed: async (position) => {
      if (position - saved >= interval) await save(position)
    },
    save,
  }
}
