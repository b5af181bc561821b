import { fairTurns, type Places } from '../../../domain/fair-turns.js'
import type { AccountId } from '../../../domain/ids.js'
import type { Time } from '../../../domain/ports.js'
import type { DueInShard } from './due-in-shard.js'
import type { Due } from './queues.js'

/**
 * How many messages are read when no account among the first has room, and the least time between two such reads, in
 * milliseconds.
 */
const widerReadLimit = 500
const widerReadInterval = 1_000

/** `needsWiderRead`: there is room, and none of those that were found has any; there may be others. */
type Found<Document> = { readonly turns: ReadonlyArray<Document>; readonly needsWiderRead: boolean }

/** Finds the turns that are due and for which there is room. The kinds of one pass share one wider read. */
export const turnFinder = (
  shard: DueInShard,
  { now }: Pick<Time, 'now'>,
  isDueNow: (one: Due) => boolean,
  places: Places,
) => {
  const isWiderReadDue = now() >= shard.nextWiderReadAt
  return async <Document extends Due>(
    accountsUnderWay: ReadonlyArray<AccountId>,
    found: ReadonlyArray<Document>,
    readWider: (most: number) => Promise<ReadonlyArray<Document>>,
  ): Promise<Found<Document>> => {
    const due = found.filter(isDueNow)
    const turns = fairTurns(due, accountsUnderWay, places)
    const needsWiderRead = turns.length === 0 && accountsUnderWay.length < places.most && due.length >= places.most
    if (!needsWiderRead || !isWiderReadDue) return { turns, needsWiderRead }
    shard.nextWiderReadAt = now() + widerReadInterval
    const wider = fairTurns((await readWider(widerReadLimit)).filter(isDueNow), accountsUnderWay, places)
    return { turns: wider, needsWiderRead: wider.length === 0 }
  }
}
