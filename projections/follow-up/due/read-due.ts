import type { AccountId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import { isMessageId, type DueInShard, type DuePorts } from './due-in-shard.js'
import { lateRoomIn, type LateRoom } from './late-pace.js'
import { firstSteps, lateSteps, nextLate } from './late-steps.js'
import { copyQueue, isDueAt, requestedQueue, stepQueue, waiting, waitingOfAll, type Due } from './queues.js'
import { taskFinder } from './task-finder.js'

/** Limits on steps, and on requested messages: in a shard and for one account, so that one that hangs leaves places. */
export const places = { most: 16, mostOfAccount: 12 }

/** Copies that a provider erases at once for a shard, at most. */
export const mostErasing = 2

/** Checks that are read at once: of the first of them there may be too many of one account. */
const checksRead = 100

/** What is due in a shard, apart from what is in flight or set aside. */
export type DueRead = {
  /** Those for which there is room, as are `steps`. */
  readonly requested: ReadonlyArray<Due>
  /** First messages that are not late. */
  readonly steps: ReadonlyArray<FollowUpDocument>
  /** Accounts whose steps were in flight when room was looked for, each as often as it had one. */
  readonly stepsInFlight: ReadonlyArray<AccountId>
  readonly late: ReadonlyArray<FollowUpDocument>
  readonly lateRoom: LateRoom
  readonly checks: ReadonlyArray<FollowUpDocument>
  readonly copies: ReadonlyArray<Due>
  /** When the next of all these becomes due. */
  readonly nextDueAt: Instant | undefined
  /** By the monotonic clock: when more may be read, where that may find an account that has room. */
  readonly widerReadAt: number | undefined
}

export const readDue = async (ports: DuePorts, shard: DueInShard): Promise<DueRead> => {
  const { clock, monotonic, failingWork } = ports
  const { lease } = shard
  const now = clock.now()
  const lateRoom = lateRoomIn(shard, monotonic.now())
  const readRequested = (most: number): Promise<ReadonlyArray<Due>> =>
    waitingOfAll(ports, shard, requestedQueue(lease), { now, most })
  const [requested, { first, late }, checks, copies] = await Promise.all([
    readRequested(places.most),
    readSteps(ports, shard, now, lateRoom),
    waitingOfAll<FollowUpDocument>(ports, shard, stepQueue(lease, 'consent'), { now, most: checksRead }),
    waiting<Due>(ports, shard, copyQueue(lease), { now, most: mostErasing }),
  ])
  failingWork.ended(lease.name)
  const isDueNow = isDueAt(now)
  const stepsInFlight = accountsWrittenFor(shard, 'steps')
  const find = taskFinder(shard, monotonic, isDueNow, places)
  const ofRequested = await find(accountsWrittenFor(shard, 'requested'), requested, readRequested)
  const ofSteps = await find(stepsInFlight, first, async (most) => (await firstSteps(ports, shard, now, most)).steps)
  return {
    requested: ofRequested.tasks,
    steps: ofSteps.tasks,
    stepsInFlight,
    late: late.filter(isDueNow),
    lateRoom,
    checks: checks.filter(isDueNow),
    copies: copies.filter(isDueNow),
    nextDueAt: [requested, first, late, checks, copies]
      .flatMap((queue: ReadonlyArray<Due>) => queue.find((one) => !isDueNow(one))?.next_at ?? [])
      .toSorted()[0],
    widerReadAt: ofRequested.needsWiderRead || ofSteps.needsWiderRead ? shard.nextWiderReadAt : undefined,
  }
}

type StepsRead = { readonly first: ReadonlyArray<FollowUpDocument>; readonly late: ReadonlyArray<FollowUpDocument> }

/** First messages and late steps. Where none of the late may begin, at most one of them, which tells that there are. */
const readSteps = async (
  ports: DuePorts,
  shard: DueInShard,
  now: Instant,
  { isPaced, steps: mostNow }: LateRoom,
): Promise<StepsRead> => {
  const { steps: first, firstLate } = await firstSteps(ports, shard, now, places.most)
  if (mostNow > 0) return { first, late: await lateSteps(ports, shard, now, firstLate !== undefined) }
  const isKnown = !isPaced || shard.lateAhead.steps.length > 0
  return { first, late: isKnown ? [] : await nextLate(ports, shard, firstLate) }
}

/** Whose messages are in flight in a shard, each as often as it has one. */
const accountsWrittenFor = ({ writingTo }: DueInShard, kind: 'steps' | 'requested'): ReadonlyArray<AccountId> =>
  [...writingTo].filter(([id]) => isMessageId(id) === (kind === 'requested')).map(([, { account_id }]) => account_id)
