import type { Db } from 'mongodb'
import type { Time } from '../../domain/ports.js'
import type { Documents } from '../../projections/ports.js'
import { monotonicTime } from '../node/monotonic-time.js'
import { documentGenerations } from './document-generations.js'
import { documentReads, valuesIn } from './document-reads.js'
import { documentWrites } from './document-writes.js'
import { generationLocator } from './generations/locator.js'
import { generationRegistry } from './generations/registry.js'

/** The `Documents` port on MongoDB. */
export const mongoDocuments = (db: Db, time: Pick<Time, 'now'> = monotonicTime): Documents => {
  const registry = generationRegistry(db)
  const locator = generationLocator(registry, time)
  const writes = documentWrites(db, locator, time)
  return {
    ...documentReads(db, locator),
    values: valuesIn(db, locator),
    ...documentGenerations(db, registry, locator, writes),
    apply: writes.apply,
    checkpoint: writes.checkpoint,
  }
}
