import { withinLimit } from '../../domain/abortable.js'
import { E } from '../../domain/prelude.js'
import type { MonotonicClock } from '../../domain/ports.js'
import type { Queries } from '../queries.js'
import { parkedEvents } from '../read-models/parked-events.js'

/** Events of one process manager that wait for an operator: `mostParked` where there are as many or more. */
export type ParkedCount = { readonly processManager: string; readonly events: number }

/** In milliseconds: whoever watches over the process is answered within it, whatever the read models do. */
export const longestLook = 1_000

/** Counted to here and no further: what is counted is read. */
const mostParked = 100

/** How many events each process manager has parked; undefined where the read model does not answer. */
export const parkedCounts =
  ({ page }: Pick<Queries, 'page'>, processManagers: ReadonlyArray<string>, monotonic: Pick<MonotonicClock, 'sleep'>) =>
  async (): Promise<ReadonlyArray<ParkedCount> | undefined> => {
    const count = async (processManager: string): Promise<ParkedCount | undefined> => {
      const query = { index: 'by_process_manager', equals: [processManager], limit: mostParked }
      const found = await page(parkedEvents, query)
      return E.isLeft(found) ? undefined : { processManager, events: found.right.length }
    }
    const counts = await withinLimit(monotonic, longestLook, () => Promise.all(processManagers.map(count)))
    return counts?.every((count) => count !== undefined) === true ? counts : undefined
  }
