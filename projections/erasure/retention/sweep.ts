import { later, type Instant } from '../../../domain/instant.js'
import type { Clock, EventStore } from '../../../domain/ports.js'
import { orThrow, StoreFailed } from '../../../domain/store-failed.js'
import { pagesOf } from '../../pages.js'
import type { Documents, Entry, Json } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import type { Lease } from '../../subscriptions/leases.js'
import type { RetentionPolicy } from './policy.js'
import type { RemoveAll } from './removal.js'

export type SweepPorts = {
  readonly store: Pick<EventStore, 'read' | 'readLast'>
  readonly documents: Pick<Documents, 'find' | 'get'>
  readonly clock: Clock
}

/** For one look. */
type LookPorts = SweepPorts & {
  readonly removeAll: RemoveAll
  /** Keys of what could not be removed before. Where that was closed no sweep finds it any more. */
  readonly unfinished: ReadonlySet<string>
}

/** Documents that are looked at together, and in a second at most: the store is left to others. */
const batchSize = 32
const perSecond = 500

/**
 * Closing events that are looked at again: an interrupted batch, which may not have removed all, is among the newest.
 */
const interrupted = 2 * batchSize

/**
 * Removes what ended before `limit`, and says how many.
 * @throws StoreFailed
 */
export const sweep = async <Document extends Json>(
  ports: LookPorts,
  policy: RetentionPolicy<Document>,
  limit: Instant,
  lease: Lease,
): Promise<number> => {
  const collection = collectionOf(policy.projection)
  let erased = 0
  for (const state of policy.ended) {
    // By when they were made: none ends before that.
    const query = { index: 'of_all', equals: [state], upTo: limit, limit: batchSize }
    for await (const page of pagesOf(ports.documents, collection, query)) {
      if (lease.ending.aborted) return erased
      const { removed, failed } = await ports.removeAll(page, async ({ key, document }) => {
        const [last] = orThrow(await ports.store.readLast(policy.streamOf(key), 1))
        if (last?.type === policy.closedBy) return finishOne(ports, policy, { key, document }, lease)
        if (last === undefined || last.time > limit) return false
        // A collection holds what its own projection made.
        return policy.remove(document as Document, lease)
      })
      erased += removed
      throwWhereAway(page, failed)
      await pace(ports, page.length, lease)
    }
  }
  return erased
}

/** A store that fails at each document of a page is away: to ask it for those of other pages would help nobody. */
const throwWhereAway = (page: ReadonlyArray<Entry>, failed: ReadonlyArray<unknown>): void => {
  const isAway = page.length > 0 && failed.filter((error) => error instanceof StoreFailed).length === page.length
  if (isAway) throw failed[0]
}

/**
 * Takes away what stands before closing events where an earlier look did not come to that: of what failed, and of the
 * newest ones, up to a page that is older than `since` and lacks nothing.
 */
export const finish = async <Document extends Json>(
  ports: LookPorts,
  policy: RetentionPolicy<Document>,
  since: Instant,
  lease: Lease,
): Promise<number> => {
  const collection = collectionOf(policy.projection)
  const removedAt = collection.indexes[policy.removed]?.at(-1) ?? ''
  const removeIn = (page: ReadonlyArray<Entry>) =>
    ports.removeAll(page, (entry) => finishOne(ports, policy, entry, lease))
  let erased = 0
  const keys = [...ports.unfinished]
  for (let n = 0; n < keys.length && !lease.ending.aborted; n += batchSize) {
    const shown = orThrow(await ports.documents.get(collection, keys.slice(n, n + batchSize)))
    const closed = [...shown].flatMap(([key, { document }]) =>
      document?.[removedAt] === undefined ? [] : [{ key, document }],
    )
    erased += (await removeIn(closed)).removed
  }
  let looked = 0
  const newest = { index: policy.removed, equals: [], descending: true, limit: batchSize } as const
  for await (const page of pagesOf(ports.documents, collection, newest)) {
    const { removed, failed } = await removeIn(page)
    erased += removed
    looked += page.length
    if (lease.ending.aborted) break
    if (looked < interrupted) continue
    throwWhereAway(page, failed)
    const isOld = String(page.at(-1)?.document[removedAt]) < since
    if (isOld && removed + failed.length === 0) break
    await pace(ports, page.length, lease)
  }
  return erased
}

const finishOne = async <Document extends Json>(
  { store }: LookPorts,
  policy: RetentionPolicy<Document>,
  { key, document }: Entry,
  lease: Lease,
): Promise<boolean> => {
  const [first] = orThrow(await store.read(policy.streamOf(key))).events
  return first !== undefined && first.type !== policy.closedBy && policy.remove(document as Document, lease)
}

/** Waits as long as so many documents take. */
const pace = ({ clock }: SweepPorts, count: number, { ending }: Lease): Promise<void> =>
  clock.sleepUntil(later(clock.now(), (count * 1_000) / perSecond), ending)
