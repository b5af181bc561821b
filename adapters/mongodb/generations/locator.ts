import { MongoServerError } from 'mongodb'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Collection } from '../../../projections/ports.js'
import { generationName, prefixOf, type GenerationRegistry, type Place } from './registry.js'

/** Finds out where generations stand, and reads from them. Its methods throw what the driver throws. */
export type GenerationLocator = {
  /** Where a generation stands now; undefined when there is none. */
  readonly locate: (collection: Collection) => Promise<Place | undefined>
  /** Where it stood within the last second. */
  readonly recent: (collection: Collection) => Promise<Place | undefined>
  /**
   * Reads from a generation; `none` where there is none. A result that is not complete may be that of a generation that
   * another process replaced and dropped: then the generation is located again, so that a reader sees one generation
   * whole.
   */
  readonly read: <A>(
    collection: Collection,
    none: A,
    query: (place: Place) => Promise<A>,
    isComplete: (found: A) => boolean,
  ) => Promise<A>
  readonly remember: (collection: Collection, place: Place) => void
  /**
   * This process just found its checkpoint there, so that it is live for a second: a document that is missing does not
   * exist.
   */
  readonly confirm: (collection: Collection, place: Place) => void
  readonly forget: (collection: Collection) => void
  /** Forgets all versions and generations of a name. */
  readonly forgetAll: (name: string) => void
}

type CachedLocation = { readonly place: Place; readonly at: number; readonly isConfirmed: boolean }

/**
 * In milliseconds. A location is cached for so long only: what was replaced stays where it was, and is still found
 * there, if the process that replaced it died before it dropped it.
 */
const cachedFor = 1_000

export const generationLocator = (
  registry: GenerationRegistry,
  { now }: Pick<MonotonicClock, 'now'>,
): GenerationLocator => {
  const cache = new Map<string, CachedLocation>()

  const store = (collection: Collection, place: Place, isConfirmed: boolean): void => {
    cache.set(generationName(collection), { place, at: now(), isConfirmed })
  }
  const remember: GenerationLocator['remember'] = (collection, place) => {
    store(collection, place, false)
  }
  const forget: GenerationLocator['forget'] = (collection) => {
    cache.delete(generationName(collection))
  }
  const locate: GenerationLocator['locate'] = async (collection) => {
    const place = await registry.find(collection)
    if (place === undefined) forget(collection)
    else remember(collection, place)
    return place
  }
  const cachedNow = (collection: Collection): CachedLocation | undefined => {
    const cached = cache.get(generationName(collection))
    return cached !== undefined && now() - cached.at < cachedFor ? cached : undefined
  }
  return {
    locate,
    recent: async (collection) => cachedNow(collection)?.place ?? locate(collection),
    remember,
    confirm: (collection, place) => {
      store(collection, place, true)
    },
    forget,
    forgetAll: (name) => {
      for (const cached of cache.keys()) if (cached.startsWith(prefixOf(name))) cache.delete(cached)
    },
    read: async (collection, none, query, isComplete) => {
      const cached = cachedNow(collection)
      let place = cached?.place ?? (await locate(collection))
      while (place !== undefined) {
        const result = await orServerError(query(place))
        const isConfirmed = cached?.isConfirmed === true && cached.place.serial === place.serial
        if (E.isRight(result) && (isConfirmed || isComplete(result.right))) return result.right
        const located = await locate(collection)
        if (located?.serial === place.serial) {
          if (E.isLeft(result)) throw result.left
          return result.right
        }
        place = located
      }
      return none
    },
  }
}

/** Left: an error of the server, which alone can say that a collection is gone. Other errors are thrown. */
const orServerError = async <A>(query: Promise<A>): Promise<Either<MongoServerError, A>> => {
  try {
    return E.right(await query)
  } catch (error) {
    if (error instanceof MongoServerError) return E.left(error)
    throw error
  }
}
