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
  /** Late steps that come next, those of the newest leads first, and by the same clock until when. */
  lateAhead: { readonly steps: ReadonlyArray<FollowUpDocument>; readonly until: number }
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

/** Steps that are read at a look. Where more are late all of them are read, and compared. */
const lateWindow = 100
const latePage = 500

/** So many of them are remembered then, for so long in milliseconds: others become late meanwhile. */
const mostLateAhead = 1_000
const lateAheadFor = 10_000

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
    roomForLate > 0 ? lateSteps(ports, shard, now) : [],
    waiting<FollowUpDocument>(ports, shard, stepQueue(lease, 'consent'), { now, most: lateWindow }),
    waiting<Due>(ports, shard, copyQueue(lease), { now, most: mostErasing }),
  ])
  if (isEnding(lease)) return
  const isDueNow = isDueAt(now)
  const answersUnderWay = [...underWay.keys()].filter((id) => isMessageId(id) && !shard.erasing.has(id)).length
  const room = mostUnderWay - (underWay.size - answersUnderWay - shard.checking.size - shard.erasing.size)
  const dueAnswers = answers.filter(isDueNow).slice(0, Math.max(mostUnderWay - answersUnderWay, 0))
  const checks = checksOf(unverified.filter(isDueNow).toSorted(newestLeadFirst), shard.checking)
  for (const { id, account_id } of checks) shard.checking.set(id, account_id)
  const dueFirst = first.filter(isDueNow).slice(0, Math.max(room, 0))
  // One that has to wait for another turn of its contact must not take the place of others, which wait for none.
  const busy = new Set(shard.writingTo.values())
  const dueLate = late.filter((step) => isDueNow(step) && !busy.has(step.contact_id)).toSorted(newestLeadFirst)
  const begunLate = dueLate.slice(0, Math.max(Math.min(room - dueFirst.length, roomForLate), 0))
  for (const { id } of checks) begin(id)
  const dueCopies = copies.filter(isDueNow).slice(0, Math.max(mostErasing - shard.erasing.size, 0))
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
  shard.lateAhead = { ...shard.lateAhead, steps: shard.lateAhead.steps.filter((step) => !begunLate.includes(step)) }
  const wakes = [
    aborted(woken),
    ...[answers, first, late, unverified, copies]
      .flatMap((queue: ReadonlyArray<Due>) => queue.find((one) => !isDueNow(one))?.next_at ?? [])
      .map((at) => clock.sleepUntil(at, woken)),
    // Also where the pace has come to its end meanwhile: what is late was not looked at.
    ...(isPaced || begunLate.length > 0 ? [time.sleep(Math.max(shard.latePaceUntil - time.now(), 0), woken)] : []),
  ]
  await Promise.race(wakes)
  // Ends the timers of those that lost the race.
  shard.wakeUp.wake()
}

export const isMessageId = (id: TurnId): id is MessageId => id.startsWith('msg_')

const isDueAt =
  (now: Instant) =>
  ({ next_at }: Due): boolean =>
    next_at !== undefined && next_at <= now

/** Neither under way nor set aside. */
const isFreeIn =
  ({ underWay, setAside }: DueInShard) =>
  ({ id }: Due): boolean =>
    !underWay.has(id) && !setAside.has(id)

type Due = { readonly id: TurnId; readonly contact_id: ContactId; readonly next_at?: Instant }

/** Late steps, those of the newest leads among them however many are late, and the first that is not late yet. */
const lateSteps = async (ports: Ports, shard: DueInShard, now: Instant): Promise<ReadonlyArray<FollowUpDocument>> => {
  const isFree = isFreeIn(shard)
  const isFresh = ports.time.now() < shard.lateAhead.until
  const ahead = isFresh ? shard.lateAhead.steps.filter(isFree) : []
  if (ahead.length > 0) return ahead
  const queue = stepQueue(shard.lease, 'later')
  const found = await waiting<FollowUpDocument>(ports, shard, queue, { now, most: lateWindow })
  if (found.filter(isDueAt(now)).length < lateWindow) return found
  const steps = await newestLate(ports, shard, queue, now)
  shard.lateAhead = { steps, until: ports.time.now() + lateAheadFor }
  return steps
}

const newestLate = async (
  { documents }: Ports,
  shard: DueInShard,
  { collection, name }: Queue,
  now: Instant,
): Promise<ReadonlyArray<FollowUpDocument>> => {
  let newest: ReadonlyArray<FollowUpDocument> = []
  let after: Query['after']
  while (!isEnding(shard.lease)) {
    const part = { index: 'due', equals: [name], upTo: now, limit: latePage }
    const page = orThrow(await documents.find(collection, after === undefined ? part : { ...part, after }))
    const steps = page.map(({ document }) => document as unknown as FollowUpDocument)
    newest = [...newest, ...steps.filter(isFreeIn(shard))].toSorted(newestLeadFirst).slice(0, mostLateAhead)
    const last = page.at(-1)
    const at = steps.at(-1)?.next_at
    if (page.length < latePage || last === undefined || at === undefined) break
    after = { value: at, key: last.key }
  }
  return newest
}

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
  shard: DueInShard,
  { collection, name }: Queue,
  { now, most }: { readonly now: Instant; readonly most: number },
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
  const [first] = await read({}, 1)
  if (first?.next_at === undefined) return []
  if (first.next_at > now) return [first]
  const [due, next] = await Promise.all([read({ upTo: now }, most), read({ from: later(now, 1) }, 1)])
  return [...due, ...next]
}
