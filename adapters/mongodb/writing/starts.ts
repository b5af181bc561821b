import type { Collection } from '../../../projections/ports.js'
import { OperationFailed } from '../failure.js'
import type { GenerationLocator } from '../generations/locator.js'
import { generationName, prefixOf, type Place } from '../generations/registry.js'

/**
 * By generation, where this process read the checkpoint to go on from it, or wrote its first change. There it goes on.
 */
export type Starts = {
  /** Undefined where it has not begun. */
  readonly at: (collection: Collection) => Place | undefined
  readonly begin: (collection: Collection, place: Place) => void
  /** Begins where the generation stands, if it has not begun. Throws what the driver throws. */
  readonly atOrNow: (collection: Collection) => Promise<Place>
  readonly forget: (collection: Collection) => void
  /** Forgets all versions and generations of a name. */
  readonly forgetAll: (name: string) => void
}

export const startsBy = ({ recent }: Pick<GenerationLocator, 'recent'>): Starts => {
  const started = new Map<string, Place>()

  const at: Starts['at'] = (collection) => started.get(generationName(collection))
  const begin: Starts['begin'] = (collection, place) => void started.set(generationName(collection), place)
  return {
    at,
    begin,
    atOrNow: async (collection) => {
      const place = at(collection) ?? (await recent(collection))
      if (place === undefined)
        throw new OperationFailed({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
      begin(collection, place)
      return place
    },
    forget: (collection) => void started.delete(generationName(collection)),
    forgetAll: (name) => {
      for (const generation of started.keys()) if (generation.startsWith(prefixOf(name))) started.delete(generation)
    },
  }
}
