import type { Logger, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Documents } from '../../../projections/ports.js'
import { collectionOf, type AnyProjection } from '../../../projections/projection.js'

type Ports = {
  readonly documents: Pick<Documents, 'exists'>
  readonly logger: Logger
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
}

/**
 * Waits until these read models exist, or `signal` aborts: one appears only when it is completely built, by this
 * process or another.
 */
export const untilBuilt = async (
  { documents, logger, monotonic }: Ports,
  readModels: ReadonlyArray<AnyProjection>,
  signal: AbortSignal,
): Promise<void> => {
  for (let tries = 1; !signal.aborted; tries += 1) {
    const missing: Array<string> = []
    for (const projection of readModels) {
      const exists = await documents.exists(collectionOf(projection))
      if (E.isLeft(exists) || !exists.right) missing.push(projection.name)
    }
    if (missing.length === 0) return
    if (tries % 100 === 0) logger.info({ readModels: missing }, 'waiting for read models')
    await monotonic.sleep(100, signal)
  }
}
