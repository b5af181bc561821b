import { later, type Instant } from '../../domain/instant.js'
import type { Clock, EventStore } from '../../domain/ports.js'
import { orThrow, StoreFailed } from '../../domain/store-failed.js'
import { exceptionsInARow } from '../parking/exceptions-in-a-row.js'
import { parkedRecords, type ParkedWorkPorts } from '../parking/parked-work.js'
import { pagesOf } from '../pages.js'
import type { Documents, Entry } from '../ports.js'
import { collectionOf, type Projection } from '../projection.js'
import type { Json } from '../ports.js'
import { reasonOf } from '../../domain/failure-reason.js'
import { backoffAfter, isLogged } from '../subscriptions/retries/backoff.js'
import type { Lease } from '../subscriptions/leases.js'
import { eraserName } from './eraser.js'

type RetentionPorts = ParkedWorkPorts & {
  readonly store: Pick<EventStore, 'purge' | 'read' | 'readLast'>
  readonly documents: Pick<Documents, 'find' | 'get' | 'exists'>
  readonly clock: Clock
}

/** One that can't be removed does not stop the others. `failed`: why some of the page could not be removed; they are tried again. */
type RemoveAll = (
  page: ReadonlyArray<Entry>,
  remove: (entry: Entry) => Promise<boolean>,
) => Promise<{ readonly removed: number; readonly failed: ReadonlyArray<unknown> }>

/** For one look. */
type LookPorts = RetentionPorts & {
  readonly removeAll: RemoveAll
  /** Keys of what could not be removed before. Where that was closed no sweep finds it any more. */
  readonly unfinished: ReadonlySet<string>
}

/** What is removed after so many days, one document of a read model at a time. */
export type RetentionPolicy<Document extends Json> = {
  /** The lease under which it is removed. */
  readonly name: string
  /** In the plural: for the log. */
  readonly what: string
  readonly projection: Projection<Document>
  /** The stream of a document. */
  readonly streamOf: (key: string) => string
  /** The type of the event that closes such a stream. */
  readonly closedBy: string
  /** States in which nothing more happens by itself. The index `of_all` has the state first. */
  readonly ended: ReadonlyArray<string>
  /** The index of what was removed, by when that was. */
  readonly removed: string
  /** Whether it was removed: it may turn out that it is still needed. */
  readonly remove: (document: Document, lease: Lease) => Promise<boolean>
}

/** In milliseconds: between two looks for what has been kept for long enough. */
const pause = 60 * 60 * 1_000
const pauseWhileBuilt = 10 * 1_000

/** The same after a look that failed, be it at one document alone: nothing is kept for an hour more because of one hiccup. */
const pauseAfterFailure = { first: 60 * 1_000, longest: pause }

/** Documents that are looked at together, and in a second at most: the store is left to others. */
const batchSize = 32
const perSecond = 500

/** Closing events that are looked at again: an interrupted batch, which may not have removed all, is among the newest. */
const interrupted = 2 * batchSize

/** In milliseconds: so far back they are looked at in the first look. What an earlier holder of the lease failed at nobody knows. */
const firstReach = 24 * 60 * 60 * 1_000

/** Keys of what could not be removed that are kept at most. */
const mostUnfinished = 10_000

/** Removes what ended so many days ago, under a lease. */
export const retention = <Document extends Json>(
  ports: RetentionPorts,
  policy: RetentionPolicy<Document>,
  days: number,
) => ({
  run: async (lease: Lease): Promise<void> => {
    const { removing, unfinished } = removerOf(ports, policy, lease)
    // An older process may have left some in the files.
    let isPurged = false
    let isFirst = true
    let failures = 0
    while (!lease.ending.aborted) {
      const now = ports.clock.now()
      const limit = later(now, -days * 24 * 60 * 60 * 1_000)
      let next = pause
      let failed: ReadonlyArray<unknown> = []
      const removeAll: RemoveAll = async (page, remove) => {
        const done = await removing(page, remove)
        failed = [...failed, ...done.failed].slice(0, 1)
        return done
      }
      try {
        const part = { ...ports, removeAll, unfinished }
        let erased = (await finish(part, policy, now, lease)) + (await sweep(part, policy, limit, lease))
        // After the sweep: what is closed and not shown as such yet is found by one of them, whenever that changes.
        if (isFirst) erased += await finish(part, policy, later(now, -firstReach), lease)
        if (erased > 0) ports.logger.info({ erased, before: limit }, `${policy.what} were removed`)
        if (erased > 0 || !isPurged) isPurged = orThrow(await ports.store.purge())
        // What is built is looked at when it is there.
        if (orThrow(await ports.documents.exists(collectionOf(policy.projection)))) isFirst = false
        else next = pauseWhileBuilt
      } catch (error) {
        failed = [error]
      }
      const [error] = failed
      if (failed.length === 0) {
        failures = 0
        ports.failingWork.ended(policy.name)
      } else {
        if (isLogged(failures))
          ports.logger.warn({ reason: reasonOf(error) }, `${policy.what} could not all be removed`)
        next = backoffAfter(pauseAfterFailure, failures)
        failures += 1
        ports.failingWork.failed(lease, policy.name, error)
      }
      await ports.clock.sleepUntil(later(ports.clock.now(), next), lease.ending)
    }
  },
})

/** What never can be removed is parked as the eraser's, which answers its retry: the next look removes what can be read again. */
const removerOf = <Document extends Json>(
  ports: RetentionPorts,
  policy: RetentionPolicy<Document>,
  lease: Lease,
): { readonly removing: RemoveAll; readonly unfinished: ReadonlySet<string> } => {
  const exceptions = exceptionsInARow()
  const unfinished = new Set<string>()
  const { park } = parkedRecords({ name: eraserName, actor: policy.name }, ports)

  const removed = async (entry: Entry, remove: (entry: Entry) => Promise<boolean>): Promise<boolean> => {
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

  const removing: RemoveAll = async (page, remove) => {
    const ends = await Promise.allSettled(page.map((entry) => removed(entry, remove)))
    for (const [n, { key }] of page.entries())
      if (ends[n]?.status === 'rejected' && unfinished.size < mostUnfinished) unfinished.add(key)
    return {
      removed: ends.filter((end) => end.status === 'fulfilled' && end.value).length,
      failed: ends.flatMap((end): ReadonlyArray<unknown> => (end.status === 'rejected' ? [end.reason] : [])),
    }
  }
  return { removing, unfinished }
}

/**
 * Removes what ended before `limit`, and says how many.
 * @throws StoreFailed
 */
const sweep = async <Document extends Json>(
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

/** To ask the store for each of the others would help nobody. */
const throwWhereAway = (page: ReadonlyArray<Entry>, failed: ReadonlyArray<unknown>): void => {
  const isAway = page.length > 0 && failed.filter((error) => error instanceof StoreFailed).length === page.length
  if (isAway) throw failed[0]
}

/**
 * Takes away what stands before closing events where an earlier look did not come to that: of what failed, and of the newest ones, up
 * to a page that is older than `since` and lacks nothing.
 */
const finish = async <Document extends Json>(
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
const pace = ({ clock }: RetentionPorts, count: number, { ending }: Lease): Promise<void> =>
  clock.sleepUntil(later(clock.now(), (count * 1_000) / perSecond), ending)
