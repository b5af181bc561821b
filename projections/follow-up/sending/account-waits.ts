import { aborted } from '../../../domain/abortable.js'
import { account } from '../../../domain/account.js'
import { engagement } from '../../../domain/engagement.js'
import type { Position } from '../../../domain/event.js'
import type { AccountId } from '../../../domain/ids.js'
import { monthOf, type Instant } from '../../../domain/instant.js'
import { message } from '../../../domain/message.js'
import type { CommandResult, MonotonicClock } from '../../../domain/ports.js'
import { postpone } from '../../../domain/postponement.js'
import { orThrow } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'
import { wakeUp } from '../../../domain/wake-up.js'
import type { Cursor } from '../../ports.js'
import { waitingRangeOf } from '../../read-models/contact-shards.js'
import { usageIn } from '../../read-models/messages.js'
import type { LeasedFollower } from '../../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../../subscriptions/leases.js'
import { FailedForGood, readOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { lastPositionOf, recordWithRetry, type RetryPorts } from '../../subscriptions/retries/retried-command.js'
import { workWithRetry } from '../../subscriptions/retries/retried-work.js'
import type { FollowUpReads } from '../due/bounded-reads.js'
import type { DueInShard, TaskId } from '../due/due-in-shard.js'
import type { PartiesPorts } from './parties.js'
import type { SegmentReservations } from './segment-reservations.js'
import { waitingAccounts, waitingIn, waitingKinds, type SharedReads, type Waiting } from './waiting-accounts.js'

type Ports = RetryPorts &
  Pick<PartiesPorts, 'clock' | 'currentAccount'> & {
    readonly monotonic: MonotonicClock
    readonly documents: FollowUpReads
    readonly reservations: SegmentReservations
    readonly followUpsFollower: Pick<LeasedFollower, 'caughtUpTo'>
    readonly messagesFollower: Pick<LeasedFollower, 'caughtUpTo'>
  }

/** Has what waits for its account go on as soon as that may send again, in one shard. */
export type AccountWaits = {
  /** An event at this position may have let the account send again. */
  readonly check: (accountId: AccountId, position: Position) => void
  /** Events of unknown accounts may have been missed, so everything that waits is checked. */
  readonly checkAll: () => void
  /**
   * Runs until the lease is ending. It begins with everything that waits, since an earlier event may not have been
   * checked. Never rejects.
   */
  readonly work: () => Promise<void>
}

/** What of an account has not been checked yet: all but what stands before `after`. */
type Pass = {
  readonly accountId: AccountId
  readonly kind: 'steps' | 'messages'
  /** The read models must show it. */
  readonly since: Position
  readonly after?: Cursor
}

const keyOf = (kind: Pass['kind'], accountId: AccountId): string => `${accountId}/${kind}`

/**
 * So many become due at once in a shard, and others when these were tried, or after so many milliseconds at most: what
 * is late of other accounts comes between them.
 */
const mostAtOnce = 4
const interval = 125
const longestWait = 2_000

export const accountWaits = (ports: Ports, shard: DueInShard, shared: SharedReads): AccountWaits => {
  const { lease } = shard
  const retried = {
    lease,
    name: `waits of ${lease.name}`,
    message: 'what waits for accounts could not be read',
    fields: { shard: lease.name },
  }
  /** The part of one account after that of another. */
  const passes = new Map<string, Pass>()
  const added = wakeUp()
  let wantedFinds = 1
  let finds = 0

  const begin = (kind: Pass['kind'], accountId: AccountId, since: Position): void =>
    void passes.set(keyOf(kind, accountId), { accountId, kind, since })

  const findAll = async (): Promise<void> => {
    const head = await shared.head()
    await shown(ports, lease, head)
    if (isEnding(lease)) return
    if (!(await shared.waitingShards()).has(lease.name)) return
    for (const accountId of await waitingAccounts(ports.documents, lease))
      for (const kind of waitingKinds) if (!passes.has(keyOf(kind, accountId))) begin(kind, accountId, head)
  }

  const takeFirst = async (): Promise<void> => {
    const [first] = passes
    if (first === undefined) return
    const [key, pass] = first
    const rest = await resumeNext(ports, shard, pass).catch((error: unknown) => {
      // Its tasks tell of it.
      if (error instanceof FailedForGood) return undefined
      // The other accounts come before it is tried again.
      const newest = passes.get(key) ?? pass
      passes.delete(key)
      passes.set(key, newest)
      throw error
    })
    // It begins anew where another event came meanwhile.
    if (passes.get(key) !== pass) return
    passes.delete(key)
    if (rest !== undefined) passes.set(key, rest)
  }

  const takeNext = async (): Promise<void> => {
    const wanted = wantedFinds
    if (finds < wanted) await findAll()
    finds = wanted
    if (passes.size > 0) await takeFirst()
  }

  return {
    check: (accountId, position) => {
      for (const kind of waitingKinds) begin(kind, accountId, position)
      added.wake()
    },
    checkAll: () => {
      wantedFinds += 1
      added.wake()
    },
    work: async () => {
      void aborted(lease.ending).then(added.wake)
      while (!isEnding(lease)) {
        const more = added.signal()
        await workWithRetry(ports, retried, takeNext)
        if (passes.size === 0 && !isEnding(lease)) await aborted(more)
      }
    },
  }
}

/**
 * The next few of an account that wait become due, newest first. Undefined when nothing is left or none of the last few
 * could go on. Stopping there bounds the appends by what is sent; a shorter message that would fit into the month is
 * found at its own time.
 * @throws FailedForGood, and where a store fails
 */
const resumeNext = async (ports: Ports, shard: DueInShard, pass: Pass): Promise<Pass | undefined> => {
  const { documents, clock } = ports
  const { lease } = shard
  const { accountId, since, after } = pass
  await shown(ports, lease, since)
  const newest = { ...waitingRangeOf(accountId), descending: true, limit: mostAtOnce }
  const part = { index: 'waiting', equals: [lease.name], ...newest }
  const query = after === undefined ? part : { ...part, after }
  const page = orThrow(await documents.find(waitingIn[pass.kind], query)).map(({ document }) => document as Waiting)
  const last = page.at(-1)
  if (last?.waits_for === undefined || !(await maySend(ports, pass))) return undefined
  const now = clock.now()
  const due = await Promise.all(page.map(async (one) => ((await becomeDue(ports, lease, one, now)) ? [one.id] : [])))
  shard.wakeUp.wake()
  if (await allWaitAgain(ports, shard, pass.kind, due.flat(), now)) return undefined
  return { ...pass, after: { value: last.waits_for, key: last.id } }
}

const shown = async (ports: Ports, { ending }: Lease, position: Position): Promise<void> => {
  const readModels = [ports.followUpsFollower, ports.messagesFollower]
  await Promise.all(readModels.map(({ caughtUpTo }) => caughtUpTo(position, ending)))
}

/** A requested message waits for no month. */
const maySend = async (ports: Ports, { accountId, kind }: Pass): Promise<boolean> => {
  const { clock, currentAccount, documents, reservations } = ports
  const owner = readOrThrow(streamOf(account, accountId), await currentAccount(accountId))
  if (owner.kind !== 'open' || !owner.enabled) return false
  const { segmentsPerMonth } = owner
  if (kind === 'messages' || segmentsPerMonth === null) return true
  const month = monthOf(clock.now())
  const count = async (): Promise<number> => orThrow(await usageIn(documents, accountId, month)).segments
  return reservations.hasRoom({ accountId, month, segmentsPerMonth }, count)
}

/** Whether it was, and is shown as due: not where it waits no longer, or never can be read. */
const becomeDue = async (ports: Ports, lease: Lease, waiting: Waiting, now: Instant): Promise<boolean> => {
  try {
    const recorded = await resume(ports, lease, waiting, now)
    const position = lastPositionOf(recorded)
    if (position !== undefined) await shown(ports, lease, position)
    return position !== undefined
  } catch (error) {
    if (error instanceof FailedForGood) return false
    throw error
  }
}

const resume = (
  ports: Ports,
  lease: Lease,
  waiting: Waiting,
  now: Instant,
): Promise<CommandResult<unknown> | undefined> => {
  const recording = { actor: 'follow-up', lease }
  const { until, reason } = postpone.noLonger(now)
  if ('steps_done' in waiting) {
    const { id, steps_done: step, next_step_at: insteadOf } = waiting
    return recordWithRetry(ports, recording, engagement, id, { type: 'PostponeStep', step, until, reason, insteadOf })
  }
  const { id, next_at: insteadOf } = waiting
  return recordWithRetry(ports, recording, message, id, { type: 'PostponeMessage', until, reason, insteadOf })
}

/** Whether all of these wait again once they were tried. Those that take longer may still go on. */
const allWaitAgain = async (
  { documents, monotonic }: Ports,
  { lease }: DueInShard,
  kind: Pass['kind'],
  ids: ReadonlyArray<TaskId>,
  dueAt: Instant,
): Promise<boolean> => {
  if (ids.length === 0) return false
  for (let waited = 0; waited < longestWait && !isEnding(lease); waited += interval) {
    await monotonic.sleep(interval, lease.ending)
    const found = orThrow(await documents.get(waitingIn[kind], ids))
    const shown = ids.map((id) => found.get(id)?.document)
    if (shown.every((document) => document?.['next_at'] !== dueAt))
      return shown.every((document) => document?.['waits_for'] !== undefined)
  }
  return false
}
