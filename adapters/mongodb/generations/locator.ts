import { MongoServerError } from 'mongodb'
import type { Time } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Collection } from '../../../projections/ports.js'
import { generationName, prefixOf, type GenerationRegistry } from './registry.js'

/** Finds the collections of the database that hold generations, and reads from them. Its methods throw what the driver throws. */
export type GenerationLocator = {
  /** Where a generation is stored now; undefined when there is none. */
  readonly locate: (collection: Collection) => Promise<string | undefined>
  /** Where it was stored within the last second. */
  readonly recent: (collection: Collection) => Promise<string | undefined>
  /**
   * Reads from a generation; `none` where there is none. A result that is not complete may be that of a generation that another
   * process replaced and dropped: then the generation is located again, so that a reader sees one generation whole.
   */
  readonly read: <A>(
    collection: Collection,
    none: A,
    query: (stored: string) => Promise<A>,
    isComplete: (found: A) => boolean,
  ) => Promise<A>
  readonly remember: (collection: Collection, stored: string) => void
  /** This process just found its checkpoint there, so that it is live for a second: a document that is missing does not exist. */
  readonly confirm: (collection: Collection, stored: string) => void
  readonly forget: (collection: Collection) => void
  /** Forgets all versions and generations of a name. */
  readonly forgetAll: (name: string) => void
}

type CachedLocation = { readonly stored: string; readonly at: number; readonly isConfirmed: boolean }

/**
 * In milliseconds. A location is cached for so long only: what was replaced stays where it was, and is still found there, if the
 * process that replaced it died before it dropped it.
 */
const cachedFor = 1_000

export const generationLocator = (registry: GenerationRegistry, { now }: Pick<Time, 'now'>): GenerationLocator => {
  const cache = new Map<string, CachedLocation>()

  const store = (collection: Collection, stored: string, isConfirmed: boolean): void => {
    cache.set(generationName(collection), { stored, at: now(), isConfirmed })
  }
  const remember: GenerationLocator['remember'] = (collection, stored) => {
    store(collection, stored, false)
  }
  const forget: GenerationLocator['forget'] = (collection) => {
    cache.delete(generationName(collection))
  }
  const locate: GenerationLocator['locate'] = async (collection) => {
    const stored = await registry.find(collection)
    if (stored === undefined) forget(collection)
    else remember(collection, stored)
    return stored
  }
  const cachedNow = (collection: Collection): CachedLocation | undefined => {
    const cached = cache.get(generationName(collection))
    return cached !== undefined && now() - cached.at < cachedFor ? cached : undefined
  }
  return {
    locate,
    recent: async (collection) => cachedNow(collection)?.stored ?? locate(collection),
    remember,
    confirm: (collection, stored) => {
      store(collection, stored, true)
    },
    forget,
    forgetAll: (name) => {
      for (const cached of cache.keys()) if (cached.startsWith(prefixOf(name))) cache.delete(cached)
    },
    read: async (collection, none, query, isComplete) => {
      const cached = cachedNow(collection)
      let stored = cached?.stored ?? (await locate(collection))
      while (stored !== undefined) {
        const result = await orServerError(query(stored))
        const isConfirmed = cached?.isConfirmed === true && cached.stored === stored
        if (E.isRight(result) && (isConfirmed || isComplete(result.right))) return result.right
        const located = await locate(collection)
        if (located === stored) {
          if (E.isLeft(result)) throw result.left
          return result.right
        }
        stored = located
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
