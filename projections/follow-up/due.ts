import { aborted } from '../../domain/abortable.js'
import type { AccountId, ContactId, EngagementId, MessageId } from '../../domain/ids.js'
import { later, type Instant } from '../../domain/instant.js'
import type { Clock, Time } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import type { WakeUp } from '../../domain/wake-up.js'
import type { Documents, Query } from '../ports.js'
import { collectionOf } from '../projection.js'
import { followUpQueueOf, followUps, type FollowUpDocument } from '../read-models/follow-ups.js'
import { answerQueueOf, copyQueueOf, messages } from '../read-models/messages.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'

/** What has its turn: an engagement, or a message that is no step. */
export type TurnId = EngagementId | MessageId

/** What a shard's worker knows of what is due. */
export type DueInShard = {
  readonly lease: Lease
  readonly wakeUp: WakeUp
  readonly underWay: ReadonlyMap<TurnId, Promise<void>>
  /** Of these the checks of consents. */
  readonly checking: Map<TurnId, AccountId>
  /** Of these the copies that a provider is to erase. */
  readonly erasing: Set<TurnId>
  /** Of these the others: two at once to one contact would each take the last message that its state allows in a day. */
  readonly writingTo: Map<TurnId, ContactId>
  /** Of these the steps that were late. */
  readonly late: Set<TurnId>
  /** Must not be begun. */
  readonly setAside: ReadonlyMap<string, unknown>
  /** By a clock that never goes back: when the next steps that are late may be begun. */
  latePaceUntil: number
}

type Ports = { readonly documents: Pick<Documents, 'find'>; readonly clock: Clock; readonly time: Time }

/** Steps that are under way in a shard at most, and as many answers. */
const mostUnderWay = 16

/** Copies that a provider erases at once for a shard, at most. */
const mostErasing = 2

/** Checks that are under way in a shard at most, and of one account: whoever is slow with them holds up nobody else. */
const mostChecks = 16
const mostChecksOfAccount = 4

/**
 * What is late goes out at a pace that providers and carriers bear. So many late turns are under way in a
 * shard at most, since each takes its share of the processor from first messages.
 */
const lateAtOnce = 4
const lateInterval = 125

/** Late steps that are compared, to begin with those of the newest leads. */
const lateWindow = 100

/** Begins what is due, as far as there is room. Where nothing is, sleeps until something is, or something wakes it. */
export const beginDue = async (ports: Ports, shard: DueInShard, begin: (id: TurnId) => void): Promise<void> => {
  const { clock, time } = ports
  const { lease, underWay } = shard
  const woken = shard.wakeUp.signal()
  const now = clock.now()
  const isPaced = time.now() < shard.latePaceUntil
  const roomForLate = isPaced ? 0 : lateAtOnce - shard.late.size
  const [answers, first, late, unverified, copies] = await Promise.all([
    waiting<Due>(ports, shard, answerQueue(lease), { now, most: mostUnderWay }),
    waiting<Due>(ports, shard, stepQueue(lease, 'first'), { now, most: mostUnderWay }),
    roomForLate > 0
      ? waiting<FollowUpDocument>(ports, shard, stepQueue(lease, 'later'), { now, most: lateWindow })
      : [],
    waiting<FollowUpDocument>(ports, shard, stepQueue(lease, 'consent'), { now, most: lateWindow }),
    waiting<Due>(ports, shard, copyQueue(lease), { now, most: mostErasing }),
  ])
  if (isEnding(lease)) return
  const isDue = ({ next_at }: Due): boolean => next_at !== undefined && next_at <= now
  const answersUnderWay = [...underWay.keys()].filter((id) => isMessageId(id) && !shard.erasing.has(id)).length
  const room = mostUnderWay - (underWay.size - answersUnderWay - shard.checking.size - shard.erasing.size)
  const dueAnswers = answers.filter(isDue).slice(0, Math.max(mostUnderWay - answersUnderWay, 0))
  const checks = checksOf(unverified.filter(isDue).toSorted(newestLeadFirst), shard.checking)
  for (const { id, account_id } of checks) shard.checking.set(id, account_id)
  const dueFirst = first.filter(isDue).slice(0, Math.max(room, 0))
  const dueLate = late.filter(isDue).toSorted(newestLeadFirst)
  const begunLate = dueLate.slice(0, Math.max(Math.min(room - dueFirst.length, roomForLate), 0))
  for (const { id } of checks) begin(id)
  const dueCopies = copies.filter(isDue).slice(0, Math.max(mostErasing - shard.erasing.size, 0))
  for (const { id } of dueCopies) {
    shard.erasing.add(id)
    begin(id)
  }
  for (const { id, contact_id } of [...dueAnswers, ...dueFirst, ...begunLate]) {
    if ([...shard.writingTo.values()].includes(contact_id)) continue
    shard.writingTo.set(id, contact_id)
    if (begunLate.some((step) => step.id === id)) shard.late.add(id)
    begin(id)
  }
  if (begunLate.length > 0) shard.latePaceUntil = time.now() + lateInterval
  const wakes = [
    aborted(woken),
    ...[answers, first, late, unverified, copies]
      .flatMap((queue: ReadonlyArray<Due>) => queue.find((one) => !isDue(one))?.next_at ?? [])
      .map((at) => clock.sleepUntil(at, woken)),
    // Also where the pace has come to its end meanwhile: what is late was not looked at.
    ...(isPaced || begunLate.length > 0 ? [time.sleep(Math.max(shard.latePaceUntil - time.now(), 0), woken)] : []),
  ]
  await Promise.race(wakes)
  // Ends the timers of those that lost the race.
  shard.wakeUp.wake()
}

export const isMessageId = (id: TurnId): id is MessageId => id.startsWith('msg_')

type Due = { readonly id: TurnId; readonly contact_id: ContactId; readonly next_at?: Instant }

/** The checks for which there is room. */
const checksOf = (
  due: ReadonlyArray<FollowUpDocument>,
  checking: ReadonlyMap<TurnId, AccountId>,
): ReadonlyArray<FollowUpDocument> => {
  const counts = new Map<AccountId, number>()
  for (const id of checking.values()) counts.set(id, (counts.get(id) ?? 0) + 1)
  const chosen = due.filter(({ account_id }) => {
    const count = (counts.get(account_id) ?? 0) + 1
    counts.set(account_id, count)
    return count <= mostChecksOfAccount
  })
  return chosen.slice(0, Math.max(mostChecks - checking.size, 0))
}

const newestLeadFirst = (one: FollowUpDocument, other: FollowUpDocument): number =>
  one.started_at < other.started_at ? 1 : one.started_at > other.started_at ? -1 : 0

type Queue = { readonly collection: ReturnType<typeof collectionOf>; readonly name: string }

const stepQueue = ({ name }: Lease, kind: 'first' | 'later' | 'consent'): Queue => ({
  collection: collectionOf(followUps),
  name: followUpQueueOf(name, kind),
})

const answerQueue = ({ name }: Lease): Queue => ({ collection: collectionOf(messages), name: answerQueueOf(name) })

const copyQueue = ({ name }: Lease): Queue => ({ collection: collectionOf(messages), name: copyQueueOf(name) })

/**
 * In the order of their time those that are due in a queue of the shard, and the first that is not yet, apart from what is under way or set
 * aside. Where nothing is due only the first is read: most of those that wait do so for days.
 */
const waiting = async <Document extends Due>(
  { documents }: Ports,
  { underWay, setAside }: DueInShard,
  { collection, name }: Queue,
  { now, most }: { readonly now: Instant; readonly most: number },
): Promise<ReadonlyArray<Document>> => {
  const read = async (bounds: Pick<Query, 'from' | 'upTo'>, wanted: number): Promise<ReadonlyArray<Document>> => {
    const limit = wanted + underWay.size + setAside.size
    const found = orThrow(await documents.find(collection, { index: 'due', equals: [name], ...bounds, limit }))
    return found
      .map(({ document }) => document as unknown as Document)
      .filter(({ id }) => !underWay.has(id) && !setAside.has(id))
      .slice(0, wanted)
  }
  const [first] = await read({}, 1)
  if (first?.next_at === undefined) return []
  if (first.next_at > now) return [first]
  const [due, next] = await Promise.all([read({ upTo: now }, most), read({ from: later(now, 1) }, 1)])
  return [...due, ...next]
}
