import { beginning } from '../domain/event.js'
import type { EventStore, Logger } from '../domain/ports.js'
import { orThrow } from '../projections/follower.js'
import type { Documents } from '../projections/ports.js'
import { collectionOf, type AnyProjection } from '../projections/projection.js'
import { rebuild } from '../projections/rebuild.js'

/** A log shorter than this is caught up with soon enough by following it. */
const worthRebuilding = 2_000n

/** Read models that are new, or new in this version, are built from the whole log before anything is served. */
export const buildMissing = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, documents, logger }: { readonly store: EventStore; readonly documents: Documents; readonly logger: Logger },
): Promise<void> => {
  if (orThrow(await store.head()) < worthRebuilding) return
  const missing: Array<AnyProjection> = []
  for (const projection of projections) {
    const checkpoint = orThrow(await documents.checkpoint(collectionOf(projection)))
    if (checkpoint === beginning) missing.push(projection)
  }
  if (missing.length === 0) return
  logger.info({ readModels: missing.map(({ name }) => name) }, 'building read models from the log')
  await rebuild(missing, { store, documents }, () => undefined)
  for (const projection of missing) orThrow(await documents.promote(collectionOf(projection)))
}
