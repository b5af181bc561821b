import { beginning } from '../domain/event.js'
import type { EventStore, Logger } from '../domain/ports.js'
import { orThrow } from '../domain/store-failed.js'
import type { Documents } from '../projections/ports.js'
import { collectionOf, type AnyProjection } from '../projections/projection.js'
import { rebuild } from '../projections/rebuild.js'

/** Read models that are new, or new in this version, are built from the whole log before anything is served. */
export const buildMissing = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, documents, logger }: { readonly store: EventStore; readonly documents: Documents; readonly logger: Logger },
): Promise<void> => {
  const missing: Array<AnyProjection> = []
  for (const projection of projections) {
    if (!orThrow(await documents.exists(collectionOf(projection)))) missing.push(projection)
  }
  if (missing.length === 0) return
  const isEmpty = orThrow(await store.head()) === beginning
  if (!isEmpty) logger.info({ readModels: missing.map(({ name }) => name) }, 'building read models from the log')
  await rebuild(missing, { store, documents }, () => undefined)
  for (const projection of missing) orThrow(await documents.promote(collectionOf(projection)))
}
