import type { WebhookQueue } from './webhook-queue.js'

/** Slots of this process, one for each attempt in flight, and how many of them slow webhooks may have together. */
const slotsInAll = 256
const slotsForSlow = 128

/**
 * With fewer attempts in flight than this in the process, one that was answered leaves its place to the next one of its
 * webhook while its outcome is recorded: a single webhook waits for nothing but its receiver. With more of them, those
 * that wait for each other are recorded together, which costs less than it gains to go on at once.
 */
const few = 32

/** The slots of this process, and the queues that wait for one. */
export type Slots = {
  /** How many are taken. */
  readonly taken: () => number
  /**
   * How many the queue may take now: it needs both a free slot, which is kept for no other, and room within its own
   * concurrency limit.
   */
  readonly freeFor: (queue: WebhookQueue) => number
  /** Takes one until the function that it returns is called. */
  readonly take: (queue: WebhookQueue) => () => void
  /** Puts the queue among those that wait for a free slot, or for room within their own concurrency limits. */
  readonly wait: (queue: WebhookQueue) => void
  /**
   * Calls `schedule` for the queues that answered attempts leave room now, and for as many of those that wait for a
   * free slot as there are. One slot is kept for each of these until it takes it, or `releaseKept` is called for it,
   * since it may need none.
   */
  readonly wake: (schedule: (queue: WebhookQueue) => void) => void
  /** Gives up the slot that was kept for it. */
  readonly releaseKept: (queue: WebhookQueue) => void
}

export const processSlots = (): Slots => {
  /** In the order in which they began to wait, with their place in it. */
  const waiting = { fast: new Map<WebhookQueue, number>(), slow: new Map<WebhookQueue, number>() }
  const woken = { fast: new Set<WebhookQueue>(), slow: new Set<WebhookQueue>() }
  /** Queues with more to begin than their own limits allow. */
  const withoutRoom = new Set<WebhookQueue>()
  let tickets = 0
  let taken = 0
  let takenBySlow = 0

  /** Slots that are free, and not kept for a queue that was woken. */
  const free = (isSlow: boolean): number => {
    const left = slotsInAll - taken - woken.fast.size - woken.slow.size
    return isSlow ? Math.min(left, slotsForSlow - takenBySlow - woken.slow.size) : left
  }
  const kindOf = ({ limit }: WebhookQueue): keyof typeof waiting => (limit.isSlow ? 'slow' : 'fast')
  const keptFor = (queue: WebhookQueue): number => (woken[kindOf(queue)].has(queue) ? 1 : 0)

  const releaseKept = (queue: WebhookQueue): void => {
    woken.fast.delete(queue)
    woken.slow.delete(queue)
  }
  /** Whoever waits longest, whether it is slow or not: the slow ones have their part of the slots. */
  const next = (): WebhookQueue | undefined => {
    const [fast] = free(false) > 0 ? waiting.fast : []
    const [slow] = free(true) > 0 ? waiting.slow : []
    if (fast === undefined || slow === undefined) return (fast ?? slow)?.[0]
    return fast[1] < slow[1] ? fast[0] : slow[0]
  }
  const roomOf = ({ limit, inFlight, answered }: WebhookQueue): number =>
    limit.requests - inFlight.size + (taken < few ? answered.size : 0)
  const wakeForRoom = (schedule: (queue: WebhookQueue) => void): void => {
    if (taken >= few) return
    for (const queue of withoutRoom)
      if (roomOf(queue) > 0) {
        withoutRoom.delete(queue)
        schedule(queue)
      }
  }

  return {
    taken: () => taken,
    freeFor: (queue) => Math.min(roomOf(queue), free(queue.limit.isSlow) + keptFor(queue)),
    take: (queue) => {
      const { isSlow } = queue.limit
      // Its first slot is the one that was kept for it.
      releaseKept(queue)
      taken += 1
      if (isSlow) takenBySlow += 1
      return () => {
        // The end of an attempt schedules its queue.
        withoutRoom.delete(queue)
        taken -= 1
        if (isSlow) takenBySlow -= 1
      }
    },
    wait: (queue) => {
      if (roomOf(queue) <= 0) {
        withoutRoom.add(queue)
        return
      }
      const kind = kindOf(queue)
      if (waiting[kind].has(queue)) return
      waiting[kind === 'fast' ? 'slow' : 'fast'].delete(queue)
      tickets += 1
      waiting[kind].set(queue, tickets)
    },
    wake: (schedule) => {
      wakeForRoom(schedule)
      for (let queue = next(); queue !== undefined; queue = next()) {
        woken[waiting.fast.delete(queue) ? 'fast' : 'slow'].add(queue)
        waiting.slow.delete(queue)
        schedule(queue)
      }
    },
    releaseKept,
  }
}
