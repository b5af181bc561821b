import { LRUCache } from 'lru-cache'
import { beginning, type Position } from '../../domain/event.js'
import type { EventStore } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Documents, Stored } from '../ports.js'
import { changesOf, collectionOf, keysToRead, type AnyProjection, type ProjectedEvent } from '../projection.js'

/** Events that are folded before their documents are written. */
const chunk = 5_000

/** Documents in the cache, so that one which changes often is seldom read back. */
const cachedDocuments = 20_000

type Progress = (position: Position) => void

/**
 * Builds read models anew from the whole log, beside the live ones, all in one pass. Nothing that is served changes until
 * `Documents.promote`.
 * @throws Unprojectable, and Error when a store fails
 */
export const rebuild = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, documents }: { readonly store: EventStore; readonly documents: Documents },
  progress: Progress,
): Promise<void> => {
  const builders = await Promise.all(projections.map((projection) => builder(projection, documents)))
  const categories = [...new Set(projections.flatMap((projection) => projection.categories))]
  let pending: Array<ProjectedEvent> = []
  let position = beginning

  const flush = async (): Promise<void> => {
    const events = pending
    pending = []
    await Promise.all(builders.map((build) => build(events, position)))
    progress(position)
  }
  for await (const batch of store.history(beginning, categories)) {
    pending.push(...batch.events)
    position = batch.position
    if (pending.length >= chunk) await flush()
  }
  await flush()
}

type Builder = (events: ReadonlyArray<ProjectedEvent>, position: Position) => Promise<void>

const builder = async (projection: AnyProjection, documents: Documents): Promise<Builder> => {
  const collection = collectionOf(projection, 'next')
  orThrow(await documents.drop(collection))
  orThrow(await documents.prepare(collection))
  const cache = new LRUCache<string, Stored>({ max: cachedDocuments })
  let fresh = true

  /** Before the first write there is nothing to read. */
  const load = async (keys: ReadonlyArray<string>): Promise<ReadonlyMap<string, Stored>> => {
    const found = new Map<string, Stored>()
    const missing: Array<string> = []
    for (const key of keys) {
      const stored = cache.get(key)
      if (stored === undefined) missing.push(key)
      else found.set(key, stored)
    }
    if (fresh) return found
    for (const [key, stored] of orThrow(await documents.get(collection, missing))) found.set(key, stored)
    return found
  }

  return async (events, position) => {
    const mine = events.filter((event) => projection.keyOf(event) !== undefined)
    const before = await load(keysToRead(projection, mine))
    const changes = changesOf(projection, before, mine)
    orThrow(await documents.apply(collection, changes, position))
    if (changes.length > 0) fresh = false
    for (const change of changes) cache.set(change.key, change)
  }
}
