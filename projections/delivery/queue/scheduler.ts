import { over } from '../../../domain/abortable.js'
import type { Instant } from '../../../domain/instant.js'
import type { Clock, EventStore, Logger } from '../../../domain/ports.js'
import { semaphore } from '../../../domain/semaphore.js'
import type { Documents } from '../../ports.js'
import type { Backoff } from '../../subscriptions/retries/backoff.js'
import type { LeasedFollower } from '../../subscriptions/leased-follower.js'
import { isEnding } from '../../subscriptions/leases.js'
import type { FailingWork } from '../../subscriptions/retries/failing-work.js'
import { workWithRetry } from '../../subscriptions/retries/retried-work.js'
import { attemptsInFlight, type Attempt } from './attempts-in-flight.js'
import { fill } from './filling.js'
import { processSlots } from './slots.js'
import type { ExpectedKind, WebhookQueue } from './webhook-queue.js'

type Scheduler = {
  /**
   * Begins what is due to the webhook as far as there are slots, and goes on when an attempt ends, a slot is free, or
   * the next retry is due. To be called where something else changes: the read model may show deliveries of this kind.
   */
  readonly expect: (queue: WebhookQueue, kind: ExpectedKind) => void
  /**
   * Called when the lease of the queue is ending: stops its timer, and resolves when none of its attempts is in flight
   * any more.
   */
  readonly attemptsEnded: (queue: WebhookQueue) => Promise<void>
  /** Attempts that are in flight now. */
  readonly inFlight: () => number
}

type SchedulerPorts = {
  readonly attempt: Attempt
  readonly store: Pick<EventStore, 'readLast'>
  readonly documents: Documents
  readonly clock: Clock
  readonly logger: Logger
  readonly deliveriesFollower: Pick<LeasedFollower, 'caughtUpTo'>
  readonly backoff: Backoff
  readonly failingWork: FailingWork
}

/**
 * Queues for which the read model is read at the same time. Were it asked for all at once, a slow store would answer
 * none in time, be asked again, and answer none for ever.
 */
const mostConcurrentReads = 8

/** Schedules the attempts of any number of queues, which share the slots of this process. */
export const scheduler = (ports: SchedulerPorts): Scheduler => {
  const { clock } = ports
  const slots = processSlots()
  const limited = semaphore(mostConcurrentReads)

  const schedule = (queue: WebhookQueue): void => {
    if (isEnding(queue.lease)) slots.releaseKept(queue)
    else if (queue.isFilling) queue.needsRefill = true
    else void run(queue)
  }

  const begin = attemptsInFlight({ ...ports, slots }, schedule)

  /** Fills the queue until nothing has changed meanwhile: two that fill it at once would begin a delivery twice. */
  const run = async (queue: WebhookQueue): Promise<void> => {
    queue.isFilling = true
    const { lease, webhookId } = queue
    const retried = {
      lease,
      name: webhookId,
      message: 'due deliveries could not be read',
      fields: { webhook: webhookId },
    }
    do {
      await workWithRetry(ports, retried, () => refill(queue))
    } while (queue.needsRefill && !isEnding(lease))
    queue.isFilling = false
    slots.releaseKept(queue)
    slots.wake(schedule)
  }

  const refill = async (queue: WebhookQueue): Promise<void> => {
    queue.needsRefill = false
    try {
      if ((await limited(() => fill(filling, queue))) === 'no-slot') waitForSlot(queue)
    } catch (error) {
      // Others may have its slot until it is tried again.
      slots.releaseKept(queue)
      slots.wake(schedule)
      throw error
    }
  }

  const waitForSlot = (queue: WebhookQueue): void => {
    if (isEnding(queue.lease)) return
    // A slot that has become free since the queue was filled wakes no queue that begins to wait only now.
    if (slots.freeFor(queue) > 0) queue.needsRefill = true
    else slots.wait(queue)
  }

  const wakeForRetry = (queue: WebhookQueue, instant: Instant): void => {
    // The lease may have been lost while the queue was filled: nobody would stop a timer that is set after that.
    if (isEnding(queue.lease)) return
    queue.timer?.abort(over)
    const timer = new AbortController()
    queue.timer = timer
    void clock.sleepUntil(instant, timer.signal).then(() => {
      if (!timer.signal.aborted) expect(queue, 'retry')
    })
  }

  const expect = (queue: WebhookQueue, kind: ExpectedKind): void => {
    queue.expected.add(kind)
    schedule(queue)
  }

  const filling = { ...ports, slots, begin, wakeForRetry }

  return {
    expect,
    attemptsEnded: async ({ timer, inFlight }) => {
      timer?.abort(over)
      await Promise.all(inFlight.values())
    },
    inFlight: slots.taken,
  }
}
