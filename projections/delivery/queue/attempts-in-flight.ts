import { delivery } from '../../../domain/delivery.js'
import type { Position } from '../../../domain/event.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import type { DeliveryId } from '../../../domain/ids.js'
import type { EventStore, Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { Backoff } from '../../subscriptions/retries/backoff.js'
import type { LeasedFollower } from '../../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../../subscriptions/leases.js'
import type { FailingWork } from '../../subscriptions/retries/failing-work.js'
import type { Slots } from './slots.js'
import { isFull, type AttemptKind, type WebhookQueue } from './webhook-queue.js'

/** What an attempt left in the log. */
export type AttemptEnd = {
  /** Where its outcome was recorded; undefined where there was nothing to record. */
  readonly position: Position | undefined
  /** Whether the delivery waits for another attempt. */
  readonly isStillDue: boolean
}

/**
 * Makes one attempt of a delivery, and calls `answered` once its request is over. May reject; then nothing is known of
 * how it ended.
 */
export type Attempt = (
  queue: WebhookQueue,
  id: DeliveryId,
  kind: AttemptKind,
  answered: () => void,
) => Promise<AttemptEnd>

type AttemptsInFlightPorts = {
  readonly attempt: Attempt
  readonly store: Pick<EventStore, 'readLast'>
  readonly deliveriesFollower: Pick<LeasedFollower, 'caughtUpTo'>
  readonly slots: Slots
  readonly logger: Logger
  readonly backoff: Backoff
  readonly failingWork: FailingWork
}

export type Begin = (queue: WebhookQueue, id: DeliveryId, kind: AttemptKind) => void

/**
 * Begins attempts: each takes a slot and reserves its delivery. `schedule` is called when an attempt has ended, and
 * again when its delivery is no longer reserved, where it may be due again.
 */
export const attemptsInFlight = (ports: AttemptsInFlightPorts, schedule: (queue: WebhookQueue) => void): Begin => {
  const { attempt, store, deliveriesFollower, slots, logger, backoff, failingWork } = ports

  const run = async (queue: WebhookQueue, id: DeliveryId, kind: AttemptKind): Promise<void> => {
    const giveBack = slots.take(queue)
    let end: AttemptEnd = { position: undefined, isStillDue: true }
    try {
      end = await attempt(queue, id, kind, () => {
        queue.answered.add(id)
        slots.wake(schedule)
      })
      failingWork.ended(id)
    } catch (error) {
      logger.error({ delivery: id, reason: reasonOf(error) }, 'an attempt could not be recorded')
      failingWork.failed(queue.lease, id, error)
    }
    giveBack()
    queue.inFlight.delete(id)
    queue.answered.delete(id)
    void release(queue, id, kind, end)
    slots.wake(schedule)
    schedule(queue)
  }

  /**
   * Where the stream of a delivery ends whose attempt recorded nothing as far as this process knows: another one may
   * have made it, or the answer of the store was lost. Undefined where nobody can tell, or the lease ends before the
   * store answers.
   */
  const endOf = async (id: DeliveryId, lease: Lease): Promise<Position | undefined> => {
    const stream = streamOf(delivery, id)
    try {
      for (let failures = 0; !isEnding(lease); failures += 1) {
        await backoff(failures, lease.ending)
        const newest = await store.readLast(stream, 1)
        if (E.isRight(newest)) return newest.right[0]?.position
        if (newest.left.kind === 'corrupt') return undefined
        failingWork.failed(lease, stream, new StoreFailed(newest.left))
      }
      return undefined
    } finally {
      failingWork.ended(stream)
    }
  }

  /**
   * Waits until the read model shows how the attempt ended: before, it may show the delivery as due although it was
   * tried.
   */
  const release = async (queue: WebhookQueue, id: DeliveryId, kind: AttemptKind, end: AttemptEnd): Promise<void> => {
    const { lease, reserved, expected } = queue
    const position = end.position ?? (await endOf(id, lease))
    if (position !== undefined) await deliveriesFollower.caughtUpTo(position, lease.ending)
    const wasFull = isFull(queue)
    reserved.delete(id)
    if (kind === 'resend') queue.resendEnded.wake()
    if (end.isStillDue) expected.add('retry')
    if (end.isStillDue && kind !== 'first') expected.add(kind)
    // A delivery that is reserved is left out when the queue is filled, even where a resend of it was requested
    // meanwhile.
    if (wasFull || end.isStillDue || expected.size > 0) schedule(queue)
  }

  return (queue, id, kind) => {
    if (isEnding(queue.lease)) return
    queue.reserved.add(id)
    queue.isRetryNext = kind !== 'retry'
    queue.inFlight.set(id, run(queue, id, kind))
  }
}
