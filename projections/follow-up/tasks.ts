import { LRUCache } from 'lru-cache'
import { account } from '../../domain/account.js'
import { contact } from '../../domain/contact.js'
import { engagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { RecordedEvent } from '../../domain/events.js'
import { reasonOf } from '../../domain/failure-reason.js'
import type { ContactId } from '../../domain/ids.js'
import { message } from '../../domain/message.js'
import { playbook } from '../../domain/playbook.js'
import type { EventStore } from '../../domain/ports.js'
import { sendingHold } from '../../domain/sending-hold.js'
import { idIn, streamOf } from '../../domain/stream-name.js'
import { wakeUp } from '../../domain/wake-up.js'
import { parkedWork, type ParkedUnderLease } from '../parking/parked-work.js'
import { contactShards } from '../read-models/contact-shards.js'
import { isLogged } from '../subscriptions/retries/backoff.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import type { Lease } from '../subscriptions/leases.js'
import { FailedForGood } from '../subscriptions/retries/failed-for-good.js'
import { eraseCopies } from './copy-erasure.js'
import type { BoundedReads } from './due/bounded-reads.js'
import { isMessageId, type DueInShard, type TaskId } from './due/due-in-shard.js'
import { postponeTask } from './due/postpone-task.js'
import { sendRequested } from './requested-messages.js'
import { runEngagementTask, type TaskPorts } from './engagement-task.js'

export type FollowUpPorts = Omit<TaskPorts, 'documents'> & {
  readonly store: EventStore
  readonly followUpsFollower: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
  readonly messagesFollower: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
}

/** Its parked events are stored under this name, so it stays as it is. */
export const followUpWorkerName = 'follow_up_worker'

/** A shard whose lease this process holds. */
export type Shard = ParkedUnderLease &
  DueInShard & { readonly reads: BoundedReads; readonly inFlight: Map<TaskId, Promise<void>> }

/** One in which nothing is in flight yet. */
export const shardUnder = (lease: Lease, reads: BoundedReads): Shard => ({
  lease,
  reads,
  wakeUp: wakeUp(),
  inFlight: new Map(),
  checking: new Map(),
  erasing: new Set(),
  writingTo: new Map(),
  late: new Set(),
  setAside: new Map(),
  retried: new Map(),
  latePaceUntil: 0,
  nextWiderReadAt: 0,
  lateAhead: { steps: [], until: 0 },
})

type Tasks = {
  /** Runs one task, and sets aside what fails for good. Never rejects. */
  readonly run: (shard: Shard, id: TaskId) => Promise<void>
  /**
   * Releases a task that is set aside where the event says that somebody asked for its retry. Resolves with its shard.
   * @throws StoreFailed
   */
  readonly release: (event: RecordedEvent) => Promise<Shard | undefined>
}

/** Tasks whose failures in a row are counted, at most: of one that is forgotten the log tells once more. */
const mostFailing = 1_000

/** Tasks of engagements and of messages. */
export const tasksOf = (ports: FollowUpPorts, shardNamed: (name: string) => Shard | undefined): Tasks => {
  const { followUpsFollower, messagesFollower, logger, backoff, failingWork, reservations } = ports
  const holderOf = (_: string, first: RecordedEvent | undefined): Shard | undefined => {
    const contactId = first && contactIn(first)
    return contactId === undefined ? undefined : shardNamed(contactShards.of(contactId))
  }
  const parked = parkedWork<Shard>(
    { name: followUpWorkerName, actor: 'follow-up', holderOf, isNeededByOthers, ...recorded },
    ports,
  )
  const failing = new LRUCache<TaskId, number>({ max: mostFailing })

  /** @throws `error` where it may succeed later */
  const failed = async (shard: Shard, id: TaskId, error: unknown): Promise<Position | undefined> => {
    const failure = parked.finalFailure(shard, id, error)
    if (!isNeededByOthers(failure.stream)) {
      await parked.failed(shard, id, failure)
      return undefined
    }
    await parked.park(shard, failure)
    const position = await postponeTask(ports, shard.lease, id)
    // What can't be put off is set aside, under its own stream: there its retry finds it.
    const { message: reason } = failure
    const own = recorded.streamOf(id)
    if (position === undefined) await parked.failed(shard, id, new FailedForGood(own, { kind: 'corrupt', reason }))
    return position
  }

  return {
    run: async (shard, id) => {
      try {
        const position = await runTask(ports, shard, id).catch((error: unknown) => failed(shard, id, error))
        failingWork.ended(id)
        if (position === undefined) {
          await backoff(0, shard.lease.ending)
          return
        }
        await parked.succeeded(shard, id)
        failing.delete(id)
        // Before the read models show it, the task would seem to be due again, and a state's limit not to be reached.
        const readModels = [followUpsFollower, messagesFollower]
        await Promise.all(readModels.map(({ caughtUpTo }) => caughtUpTo(position, shard.lease.ending)))
      } catch (error) {
        const failures = failing.get(id) ?? 0
        if (isLogged(failures)) logger.warn({ task: id, reason: reasonOf(error) }, 'a task could not be recorded')
        failing.set(id, failures + 1)
        failingWork.failed(shard.lease, id, error)
        await backoff(0, shard.lease.ending)
      } finally {
        if (!isMessageId(id)) reservations.release(id)
        shard.inFlight.delete(id)
        shard.checking.delete(id)
        shard.erasing.delete(id)
        shard.writingTo.delete(id)
        shard.late.delete(id)
        shard.wakeUp.wake()
      }
    },
    release: parked.release,
  }
}

const recorded = {
  streamOf: (id: string): string => streamOf(isMessageId(id) ? message : engagement, id),
  idIn: (stream: string): string | undefined => idIn(engagement, stream) ?? idIn(message, stream),
}

const runTask = (given: FollowUpPorts, { lease, reads, erasing }: Shard, id: TaskId): Promise<Position | undefined> => {
  const ports: TaskPorts = { ...given, documents: reads.ofTasks }
  if (!isMessageId(id)) return runEngagementTask(ports, lease, id)
  return erasing.has(id) ? eraseCopies(ports, lease, id) : sendRequested(ports, lease, id)
}

/** Whether tasks of other engagements and messages need the stream too. */
const isNeededByOthers = (stream: string): boolean =>
  [account, contact, playbook, sendingHold].some((decider) => idIn(decider, stream) !== undefined)

/** Of an event with which a stream begins. */
const contactIn = (event: RecordedEvent): ContactId | undefined => {
  switch (event.type) {
    case 'LeadSubmitted':
    case 'EngagementStarted':
    case 'MessageRequested':
    case 'MessageBegun':
    case 'MessageReceived':
    case 'MessageErased':
      return event.data.contact_id
    default:
      return undefined
  }
}
