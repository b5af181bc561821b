import type { ContactId } from '../../../domain/ids.js'
import { later, type Instant } from '../../../domain/instant.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Query } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { followUpQueueOf, followUps } from '../../read-models/follow-ups.js'
import { answerQueueOf, copyQueueOf, messages } from '../../read-models/messages.js'
import type { Lease } from '../../subscriptions/leases.js'
import type { DueInShard, DuePorts, TurnId } from './due-in-shard.js'

export type Due = { readonly id: TurnId; readonly contact_id: ContactId; readonly next_at?: Instant }

export type Queue = { readonly collection: ReturnType<typeof collectionOf>; readonly name: string }

export const stepQueue = ({ name }: Lease, kind: 'first' | 'later' | 'consent'): Queue => ({
  collection: collectionOf(followUps),
  name: followUpQueueOf(name, kind),
})

export const answerQueue = ({ name }: Lease): Queue => ({
  collection: collectionOf(messages),
  name: answerQueueOf(name),
})

export const copyQueue = ({ name }: Lease): Queue => ({ collection: collectionOf(messages), name: copyQueueOf(name) })

export const isDueAt =
  (now: Instant) =>
  ({ next_at }: Due): boolean =>
    next_at !== undefined && next_at <= now

/** Neither under way nor set aside. */
export const isFreeIn =
  ({ underWay, setAside }: DueInShard) =>
  ({ id }: Due): boolean =>
    !underWay.has(id) && !setAside.has(id)

/**
 * In the order of their time those that are due in a queue of the shard, and the first that is not yet, apart from what is under way or set
 * aside. Where nothing is due only the first is read: most of those that wait do so for days. `from`: what was due before does not count.
 */
export const waiting = async <Document extends Due>(
  { documents }: DuePorts,
  shard: DueInShard,
  { collection, name }: Queue,
  { now, most, from }: { readonly now: Instant; readonly most: number; readonly from?: Instant },
): Promise<ReadonlyArray<Document>> => {
  const isFree = isFreeIn(shard)
  const read = async (bounds: Pick<Query, 'from' | 'upTo'>, wanted: number): Promise<ReadonlyArray<Document>> => {
    const limit = wanted + shard.underWay.size + shard.setAside.size
    const found = orThrow(await documents.find(collection, { index: 'due', equals: [name], ...bounds, limit }))
    return found
      .map(({ document }) => document as unknown as Document)
      .filter(isFree)
      .slice(0, wanted)
  }
  const start = from === undefined ? {} : { from }
  const [first] = await read(start, 1)
  if (first?.next_at === undefined) return []
  if (first.next_at > now) return [first]
  const [due, next] = await Promise.all([read({ ...start, upTo: now }, most), read({ from: later(now, 1) }, 1)])
  return [...due, ...next]
}
