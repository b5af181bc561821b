import { roundRobin, type Places } from '../../../domain/round-robin.js'
import type { AccountId } from '../../../domain/ids.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import type { DueInShard } from './due-in-shard.js'
import type { Due } from './queues.js'

/**
 * How many messages are read when no account among the first has room, and the least time between two such reads, in
 * milliseconds.
 */
const widerReadLimit = 500
const widerReadInterval = 1_000

/** `needsWiderRead`: there is room, and none of those that were found has any; there may be others. */
type Found<Document> = { readonly tasks: ReadonlyArray<Document>; readonly needsWiderRead: boolean }

/** Finds the tasks that are due and for which there is room. The kinds of one pass share one wider read. */
export const taskFinder = (
  shard: DueInShard,
  { now }: Pick<MonotonicClock, 'now'>,
  isDueNow: (one: Due) => boolean,
  places: Places,
) => {
  const isWiderReadDue = now() >= shard.nextWiderReadAt
  return async <Document extends Due>(
    accountsInFlight: ReadonlyArray<AccountId>,
    found: ReadonlyArray<Document>,
    readWider: (most: number) => Promise<ReadonlyArray<Document>>,
  ): Promise<Found<Document>> => {
    const due = found.filter(isDueNow)
    const tasks = roundRobin(due, accountsInFlight, places)
    const needsWiderRead = tasks.length === 0 && accountsInFlight.length < places.most && due.length >= places.most
    if (!needsWiderRead || !isWiderReadDue) return { tasks, needsWiderRead }
    shard.nextWiderReadAt = now() + widerReadInterval
    const wider = roundRobin((await readWider(widerReadLimit)).filter(isDueNow), accountsInFlight, places)
    return { tasks: wider, needsWiderRead: wider.length === 0 }
  }
}
