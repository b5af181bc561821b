import type { Db } from 'mongodb'
import type { MonotonicClock } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import type { Documents } from '../../projections/ports.js'
import { monotonicClock } from '../node/monotonic-clock.js'
import { documentGenerations } from './document-generations.js'
import { documentReads } from './document-reads.js'
import { documentWrites } from './document-writes.js'
import { generationLocator } from './generations/locator.js'
import { generationRegistry } from './generations/registry.js'
import { serverOf } from './servers/detection.js'
import { startsBy } from './writing/starts.js'

/** The `Documents` port on MongoDB. */
export const mongoDocuments = (db: Db, monotonic: Pick<MonotonicClock, 'now'> = monotonicClock): Documents => {
  const server = serverOf(db)
  const registry = generationRegistry(db, server)
  const locator = generationLocator(registry, monotonic)
  const starts = startsBy(locator)
  return {
    // Its files are the server's.
    purge: () => Promise.resolve(E.right(true)),
    ...documentReads(db, locator, server),
    ...documentWrites(db, { locator, starts, server, monotonic }),
    ...documentGenerations({ db, registry, locator, starts, server }),
  }
}
