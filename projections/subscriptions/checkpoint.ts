import { beginning, type Position } from '../../domain/event.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Collection, Documents } from '../ports.js'

/**
 * How far a follower has come in the log. It is saved now and then: what lies between is handled a second time after a
 * crash, which changes nothing.
 */
export type Checkpoint = {
  readonly load: () => Promise<Position>
  /** Saves `position` where the last one saved is an interval older. */
  readonly advance: (position: Position) => Promise<void>
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
    advance: async (position) => {
      if (position - saved < interval) return
      orThrow(await documents.apply(collection, [], position))
      saved = position
    },
    flush: async (position) => {
      if (position > saved) await documents.apply(collection, [], position)
    },
  }
}
