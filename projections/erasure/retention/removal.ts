import { exceptionsInARow } from '../../parking/exceptions-in-a-row.js'
import { parkedRecords, type ParkedWorkPorts } from '../../parking/parked-work.js'
import type { Entry, Json } from '../../ports.js'
import type { Lease } from '../../subscriptions/leases.js'
import { eraserName } from '../eraser.js'
import type { RetentionPolicy } from './policy.js'

/**
 * One that can't be removed does not stop the others. `failed`: why some of the page could not be removed; they are
 * tried again.
 */
export type RemoveAll = (
  page: ReadonlyArray<Entry>,
  remove: (entry: Entry) => Promise<boolean>,
) => Promise<{ readonly removed: number; readonly failed: ReadonlyArray<unknown> }>

/** Keys of what could not be removed that are kept at most. */
const mostUnfinished = 10_000

/**
 * What never can be removed is parked as the eraser's, which answers its retry: the next look removes what can be read
 * again.
 */
export const removerOf = <Document extends Json>(
  ports: ParkedWorkPorts,
  policy: RetentionPolicy<Document>,
  lease: Lease,
): { readonly removeAll: RemoveAll; readonly unfinished: ReadonlySet<string> } => {
  const exceptions = exceptionsInARow()
  const unfinished = new Set<string>()
  const { park } = parkedRecords({ name: eraserName, actor: policy.name }, ports)

  const removeOrPark = async (entry: Entry, remove: (entry: Entry) => Promise<boolean>): Promise<boolean> => {
    const stream = policy.streamOf(entry.key)
    try {
      const isRemoved = await remove(entry)
      exceptions.succeeded(stream)
      unfinished.delete(entry.key)
      return isRemoved
    } catch (error) {
      await park(lease, exceptions.finalFailure(stream, error))
      return false
    }
  }

  const removeAll: RemoveAll = async (page, remove) => {
    const ends = await Promise.allSettled(page.map((entry) => removeOrPark(entry, remove)))
    for (const [n, { key }] of page.entries())
      if (ends[n]?.status === 'rejected' && unfinished.size < mostUnfinished) unfinished.add(key)
    return {
      removed: ends.filter((end) => end.status === 'fulfilled' && end.value).length,
      failed: ends.flatMap((end): ReadonlyArray<unknown> => (end.status === 'rejected' ? [end.reason] : [])),
    }
  }
  return { removeAll, unfinished }
}
