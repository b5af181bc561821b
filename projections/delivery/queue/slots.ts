import type { WebhookQueue } from './webhook-queue.js'

/** Slots of this process, one for each attempt in flight, and how many of them slow webhooks may have together. */
const slotsInAll = 256
const slotsForSlow = 128

/** The slots of this process, and the queues that wait for one. */
export type Slots = {
  /** How many are taken. */
  readonly taken: () => number
  /**
   * How many the queue may take now: it needs both a free slot, which is set aside for no other, and room within its own
   * concurrency limit.
   */
  readonly freeFor: (queue: WebhookQueue) => number
  /** Takes one until the function that it returns is called. */
  readonly take: (queue: WebhookQueue) => () => void
  /** Puts the queue among those that wait for a free slot. */
  readonly wait: (queue: WebhookQueue) => void
  /**
   * Calls `schedule` for as many waiting queues as there are free slots. One slot is set aside for each until it takes it, or
   * `scheduled` is called for it, since it may need none.
   */
  readonly wake: (schedule: (queue: WebhookQueue) => void) => void
  readonly scheduled: (queue: WebhookQueue) => void
}

export const processSlots = (): Slots => {
  const waiting = { fast: new Set<WebhookQueue>(), slow: new Set<WebhookQueue>() }
  const woken = new Set<WebhookQueue>()
  let taken = 0
  let takenBySlow = 0

  const free = (isSlow: boolean): number => {
    const left = slotsInAll - taken
    return isSlow ? Math.min(left, slotsForSlow - takenBySlow) : left
  }
  return {
    taken: () => taken,
    freeFor: (queue) => {
      const { limit, inFlight } = queue
      const ofOthers = woken.has(queue) ? woken.size - 1 : woken.size
      return Math.min(limit.requests - inFlight.size, free(limit.isSlow) - ofOthers)
    },
    take: (queue) => {
      const { isSlow } = queue.limit
      // Its first slot is the one that was set aside for it.
      woken.delete(queue)
      taken += 1
      if (isSlow) takenBySlow += 1
      return () => {
        taken -= 1
        if (isSlow) takenBySlow -= 1
      }
    },
    wait: (queue) => {
      waiting[queue.limit.isSlow ? 'slow' : 'fast'].add(queue)
    },
    wake: (schedule) => {
      for (const kind of ['fast', 'slow'] as const) {
        for (const queue of waiting[kind]) {
          if (free(kind === 'slow') <= woken.size) break
          waiting[kind].delete(queue)
          woken.add(queue)
          schedule(queue)
        }
      }
    },
    scheduled: (queue) => {
      woken.delete(queue)
    },
  }
}
