import type { Db } from 'mongodb'
import type { Time } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import type { Documents } from '../../projections/ports.js'
import { monotonicTime } from '../node/monotonic-time.js'
import { documentGenerations } from './document-generations.js'
import { documentReads } from './document-reads.js'
import { documentWrites } from './document-writes.js'
import { generationLocator } from './generations/locator.js'
import { generationRegistry } from './generations/registry.js'
import { serverOf } from './servers/detection.js'
import { startsBy } from './writing/starts.js'

/** The `Documents` port on MongoDB. */
export const mongoDocuments = (db: Db, time: Pick<Time, 'now'> = monotonicTime): Documents => {
  const server = serverOf(db)
  const registry = generationRegistry(db, server)
  const locator = generationLocator(registry, time)
  const starts = startsBy(locator)
  return {
    // Its files are the server's.
    purge: () => Promise.resolve(E.right(true)),
    ...documentReads(db, locator, server),
    ...documentWrites(db, { locator, starts, server, time }),
    ...documentGenerations({ db, registry, locator, starts, server }),
  }
}
