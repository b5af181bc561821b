import type { AccountId, ContactId } from '../../../domain/ids.js'
import { later, type Instant } from '../../../domain/instant.js'
import { findNotSetAside } from '../../parking/not-set-aside.js'
import type { Collection, Query } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { followUpQueueOf, followUps } from '../../read-models/follow-ups.js'
import { copyQueueOf, messages, requestedQueueOf } from '../../read-models/messages.js'
import type { Lease } from '../../subscriptions/leases.js'
import type { DueInShard, DuePorts, TaskId } from './due-in-shard.js'

export type Due = {
  readonly id: TaskId
  readonly account_id: AccountId
  readonly contact_id: ContactId
  readonly next_at?: Instant
}

export type Queue = { readonly collection: Collection; readonly name: string }

export const stepQueue = ({ name }: Lease, kind: 'first' | 'later' | 'consent'): Queue => ({
  collection: collectionOf(followUps),
  name: followUpQueueOf(name, kind),
})

export const requestedQueue = ({ name }: Lease): Queue => ({
  collection: collectionOf(messages),
  name: requestedQueueOf(name),
})

export const copyQueue = ({ name }: Lease): Queue => ({ collection: collectionOf(messages), name: copyQueueOf(name) })

export const isDueAt =
  (now: Instant) =>
  ({ next_at }: Due): boolean =>
    next_at !== undefined && next_at <= now

/** Neither in flight nor set aside. */
export const isFreeIn =
  ({ inFlight, setAside }: DueInShard) =>
  ({ id }: Due): boolean =>
    !inFlight.has(id) && !setAside.has(id)

type Wanted = { readonly now: Instant; readonly most: number; readonly from?: Instant }

/** The first of them that are neither in flight nor set aside. */
export const freeIn = async <Document extends Due>(
  ports: DuePorts,
  shard: DueInShard,
  { collection, name }: Queue,
  bounds: Pick<Query, 'from' | 'upTo' | 'descending'>,
  wanted: number,
): Promise<ReadonlyArray<Document>> => {
  const range = { ...bounds, limit: wanted + shard.inFlight.size }
  const found = await findNotSetAside(ports, collection, { index: 'due', equals: [name], ...range }, shard.setAside)
  return found
    .map(({ document }) => document as unknown as Document)
    .filter(isFreeIn(shard))
    .slice(0, wanted)
}

const startOf = ({ from }: Wanted): Pick<Query, 'from'> => (from === undefined ? {} : { from })

/**
 * In the order of their time those that are due in a queue of the shard, and the first that is not yet, apart from what
 * is in flight or set aside. Where nothing is due only the first is read: most of those that wait do so for days.
 * `from`: what was due before does not count.
 */
export const waiting = async <Document extends Due>(
  ports: DuePorts,
  shard: DueInShard,
  queue: Queue,
  wanted: Wanted,
): Promise<ReadonlyArray<Document>> => {
  const { now, most } = wanted
  const read = (bounds: Pick<Query, 'from' | 'upTo'>, count: number): Promise<ReadonlyArray<Document>> =>
    freeIn(ports, shard, queue, bounds, count)
  const [first] = await read(startOf(wanted), 1)
  if (first?.next_at === undefined) return []
  if (first.next_at > now) return [first]
  // What stands before it is set aside or in flight, and is not read once more.
  const start = { from: first.next_at }
  const [due, next] = await Promise.all([read({ upTo: now, ...start }, most), read({ from: later(now, 1) }, 1)])
  return [...due, ...next]
}

/**
 * As `waiting`. If that fills the limit, also the ones that became due last: before them there may be too many of one
 * account.
 */
export const withNewest = async <Document extends Due>(
  ports: DuePorts,
  shard: DueInShard,
  queue: Queue,
  wanted: Wanted,
  oldest: ReadonlyArray<Document>,
): Promise<ReadonlyArray<Document>> => {
  const { now, most } = wanted
  if (oldest.filter(isDueAt(now)).length < most) return oldest
  const bounds = { ...startOf(wanted), upTo: now, descending: true }
  const newest = await freeIn<Document>(ports, shard, queue, bounds, most)
  const known = new Set(oldest.map(({ id }) => id))
  return [...oldest, ...newest.filter(({ id }) => !known.has(id))]
}

export const waitingOfAll = async <Document extends Due>(
  ports: DuePorts,
  shard: DueInShard,
  queue: Queue,
  wanted: Wanted,
): Promise<ReadonlyArray<Document>> =>
  withNewest(ports, shard, queue, wanted, await waiting<Document>(ports, shard, queue, wanted))
