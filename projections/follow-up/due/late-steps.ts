import { later, type Instant } from '../../../domain/instant.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Cursor } from '../../ports.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import { isEnding } from '../../subscriptions/leases.js'
import type { DueInShard, DuePorts } from './due-in-shard.js'
import { isDueAt, isFreeIn, stepQueue, waiting, waitingOfAll, withNewest, type Queue } from './queues.js'

/** Steps that are read at a look. Where more are late others are read, and compared: of each queue so many at most. */
const lateWindow = 100
const latePage = 500
const mostRead = 5_000

/** So many of them are remembered then, for so long in milliseconds: others become late meanwhile. */
const mostLateAhead = 1_000
const lateAheadFor = 10_000

/** In milliseconds: a first message that has been due for longer speeds up no first contact, and goes out with the late steps. */
const firstIsLateAfter = 60_000

/** First messages in the order of their time, and whether there are others that are late. */
type FirstSteps = { readonly steps: ReadonlyArray<FollowUpDocument>; readonly areOthersLate: boolean }

export const firstSteps = async (
  ports: DuePorts,
  shard: DueInShard,
  now: Instant,
  most: number,
): Promise<FirstSteps> => {
  const queue = stepQueue(shard.lease, 'first')
  const from = later(now, -firstIsLateAfter)
  const oldest = await waiting<FollowUpDocument>(ports, shard, queue, { now, most })
  const areOthersLate = oldest[0]?.next_at !== undefined && oldest[0].next_at < from
  const steps = areOthersLate
    ? await waitingOfAll<FollowUpDocument>(ports, shard, queue, { now, most, from })
    : await withNewest(ports, shard, queue, { now, most }, oldest)
  return { steps, areOthersLate }
}

/**
 * Late steps, those of the newest leads among them, and where these are few the first that is not late yet. First messages are among them
 * where some are late. Where more are late than are read at once, the newest leads are those of what has been read so far: each time
 * others are, and what became due last.
 */
export const lateSteps = async (
  ports: DuePorts,
  shard: DueInShard,
  now: Instant,
  areFirstLate: boolean,
): Promise<ReadonlyArray<FollowUpDocument>> => {
  const isFree = isFreeIn(shard)
  const isFresh = ports.time.now() < shard.lateAhead.until
  const ahead = isFresh ? shard.lateAhead.steps.filter(isFree) : []
  if (ahead.length > 0) return ahead
  const others = stepQueue(shard.lease, 'later')
  const found = await waiting<FollowUpDocument>(ports, shard, others, { now, most: lateWindow })
  const areFew = found.filter(isDueAt(now)).length < lateWindow
  const first = areFirstLate
    ? await newestLate(ports, shard, stepQueue(shard.lease, 'first'), later(now, -firstIsLateAfter))
    : []
  if (areFew && first.length < lateWindow) return [...first, ...found]
  const known = shard.lateAhead.steps.filter(isFree)
  const late = [...known, ...first, ...(await newestLate(ports, shard, others, now))]
  // What was read last of a step counts.
  const steps = [...new Map(late.map((one) => [one.id, one])).values()]
    .toSorted(newestLeadFirst)
    .slice(0, mostLateAhead)
  shard.lateAhead = { ...shard.lateAhead, steps, until: ports.time.now() + lateAheadFor }
  return steps
}

/**
 * Those that were due at a time and still are, of the newest leads: among as many as are read at once those that became due last, and
 * others that a look before has not come to.
 */
const newestLate = async (
  ports: DuePorts,
  shard: DueInShard,
  queue: Queue,
  upTo: Instant,
): Promise<ReadonlyArray<FollowUpDocument>> => {
  const { readUpTo } = shard.lateAhead
  const last = await lateBefore(ports, shard, queue, upTo, undefined)
  const from = furthest(last.end, readUpTo.get(queue.name))
  const others = from === undefined ? { steps: [], end: undefined } : await lateBefore(ports, shard, queue, upTo, from)
  if (others.end === undefined) readUpTo.delete(queue.name)
  else readUpTo.set(queue.name, others.end)
  return [...last.steps, ...others.steps].filter(isFreeIn(shard))
}

/** Those that became due last, before what a cursor stands at. `end`: where it ends; undefined where no others are left. */
const lateBefore = async (
  { documents }: DuePorts,
  shard: DueInShard,
  { collection, name }: Queue,
  upTo: Instant,
  before: Cursor | undefined,
): Promise<{ readonly steps: ReadonlyArray<FollowUpDocument>; readonly end: Cursor | undefined }> => {
  const steps: Array<FollowUpDocument> = []
  let end = before
  while (steps.length < mostRead / 2 && !isEnding(shard.lease)) {
    const part = { index: 'due', equals: [name], upTo, descending: true, limit: latePage }
    const page = orThrow(await documents.find(collection, end === undefined ? part : { ...part, after: end }))
    const found = page.map(({ document }) => document as unknown as FollowUpDocument)
    steps.push(...found)
    const [key, value] = [page.at(-1)?.key, found.at(-1)?.next_at]
    if (page.length < latePage || key === undefined || value === undefined) return { steps, end: undefined }
    end = { value, key }
  }
  return { steps, end }
}

/** Undefined where nothing is left behind the first. */
const furthest = (one: Cursor | undefined, other: Cursor | undefined): Cursor | undefined => {
  if (one === undefined || other === undefined) return one
  const isBehind = other.value < one.value || (other.value === one.value && other.key < one.key)
  return isBehind ? other : one
}

export const newestLeadFirst = (one: FollowUpDocument, other: FollowUpDocument): number =>
  one.started_at < other.started_at ? 1 : one.started_at > other.started_at ? -1 : 0
