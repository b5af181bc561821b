import { withinAccounts } from '../../../domain/round-robin.js'
import { later, type Instant } from '../../../domain/instant.js'
import { cursorOf } from '../../pages.js'
import { findNotSetAside } from '../../parking/not-set-aside.js'
import type { Query } from '../../ports.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import { isEnding } from '../../subscriptions/leases.js'
import type { DueInShard, DuePorts } from './due-in-shard.js'
import { isDueAt, freeIn, isFreeIn, stepQueue, waiting, waitingOfAll, withNewest, type Queue } from './queues.js'

/** Steps that are read at once. Where more are late all of them are read, and compared. */
const lateWindow = 100
const latePage = 500

/** Those that come next and are remembered, at most, and of one account: that leaves room for others. */
const mostAhead = { inAll: 1_000, ofAccount: 750 }

/** In milliseconds: for so long they are remembered, since others become late meanwhile. */
const aheadFor = 10_000

/**
 * In milliseconds: a first message that has been due for longer speeds up no first contact, and goes out with the late
 * steps.
 */
const firstIsLateAfter = 60_000

/** First messages in the order of their time, without those that are late, and the first of these. */
type FirstSteps = {
  readonly steps: ReadonlyArray<FollowUpDocument>
  readonly firstLate: FollowUpDocument | undefined
}

export const firstSteps = async (
  ports: DuePorts,
  shard: DueInShard,
  now: Instant,
  most: number,
): Promise<FirstSteps> => {
  const queue = stepQueue(shard.lease, 'first')
  const from = later(now, -firstIsLateAfter)
  const oldest = await waiting<FollowUpDocument>(ports, shard, queue, { now, most })
  const firstLate = oldest[0]?.next_at !== undefined && oldest[0].next_at < from ? oldest[0] : undefined
  const steps =
    firstLate === undefined
      ? await withNewest(ports, shard, queue, { now, most }, oldest)
      : await waitingOfAll<FollowUpDocument>(ports, shard, queue, { now, most, from })
  return { steps, firstLate }
}

/**
 * What tells that more is late while the pace lets none begin: the first message that is, where there is one, or the
 * next of the others.
 */
export const nextLate = async (
  ports: DuePorts,
  shard: DueInShard,
  firstLate: FollowUpDocument | undefined,
): Promise<ReadonlyArray<FollowUpDocument>> =>
  firstLate === undefined ? freeIn<FollowUpDocument>(ports, shard, stepQueue(shard.lease, 'later'), {}, 1) : [firstLate]

/**
 * Late steps, always with those of the newest leads. Where few are late, also the next step to become due. First
 * messages are among them where `areFirstLate`.
 */
export const lateSteps = async (
  ports: DuePorts,
  shard: DueInShard,
  now: Instant,
  areFirstLate: boolean,
): Promise<ReadonlyArray<FollowUpDocument>> => {
  const isFree = isFreeIn(shard)
  const isFresh = ports.monotonic.now() < shard.lateAhead.until
  const ahead = isFresh ? shard.lateAhead.steps.filter(isFree) : []
  if (ahead.length > 0) return ahead
  const others = stepQueue(shard.lease, 'later')
  const found = await waiting<FollowUpDocument>(ports, shard, others, { now, most: lateWindow })
  const areFew = found.filter(isDueAt(now)).length < lateWindow
  const first = areFirstLate
    ? await newestLate(ports, shard, stepQueue(shard.lease, 'first'), later(now, -firstIsLateAfter))
    : []
  shard.lateAhead = { steps: [], until: 0 }
  if (areFew && first.length < lateWindow) return [...first, ...found]
  const steps = newestOf([...first, ...(await newestLate(ports, shard, others, now))])
  shard.lateAhead = { steps, until: ports.monotonic.now() + aheadFor }
  return steps
}

/** Those that were due at a time and still are, of the newest leads. */
const newestLate = async (
  ports: DuePorts,
  shard: DueInShard,
  { collection, name }: Queue,
  upTo: Instant,
): Promise<ReadonlyArray<FollowUpDocument>> => {
  let newest: ReadonlyArray<FollowUpDocument> = []
  let after: Query['after']
  while (!isEnding(shard.lease)) {
    const part = { index: 'due', equals: [name], upTo, limit: latePage, ...(after === undefined ? {} : { after }) }
    const page = await findNotSetAside(ports, collection, part, shard.setAside)
    const steps = page.map(({ document }) => document as unknown as FollowUpDocument)
    newest = newestOf([...newest, ...steps.filter(isFreeIn(shard))])
    const last = page.at(-1)
    if (last === undefined || page.length < latePage) break
    after = cursorOf(collection, part.index, last)
  }
  return newest
}

const newestOf = (steps: ReadonlyArray<FollowUpDocument>): ReadonlyArray<FollowUpDocument> =>
  withinAccounts(steps.toSorted(newestLeadFirst), [], mostAhead.ofAccount).slice(0, mostAhead.inAll)

export const newestLeadFirst = (one: FollowUpDocument, other: FollowUpDocument): number =>
  one.started_at < other.started_at ? 1 : one.started_at > other.started_at ? -1 : 0
