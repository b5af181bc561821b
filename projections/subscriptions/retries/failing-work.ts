import { LRUCache } from 'lru-cache'
import { reasonOf } from '../../../domain/failure-reason.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { isEnding, type Lease } from '../leases.js'

/**
 * What a worker under leases fails at and tries again: health tells of it while that lasts, and while its lease does.
 */
export type FailingWork = {
  /** `work` failed, and is tried again soon under this lease. */
  readonly failed: (lease: Lease, work: string, error: unknown) => void
  /** `work` is done, or nobody tries it any more. */
  readonly ended: (work: string) => void
  /**
   * Why something is tried again, in words that hold no value: up to three different reasons, the newest first, with
   * semicolons between. Undefined where nothing is.
   */
  readonly reason: () => string | undefined
}

/** Works that are known at most: while so many fail, one that is forgotten is told of by the others. */
const mostWorks = 1_000

/** Reasons that are told at once: where a store is away all else fails too, and what stays would be hidden. */
const mostReasons = 3

/**
 * In milliseconds: what did not fail again for so long is not tried any more, as where a delivery was given up
 * meanwhile.
 */
const longestPause = 60_000

/** `pause`: another such time, where work is tried again later. */
export const failingWork = ({ now }: Pick<MonotonicClock, 'now'>, pause = longestPause): FailingWork => {
  type Failure = { readonly lease: Lease; readonly reason: string; readonly until: number }
  const failing = new LRUCache<string, Failure>({ max: mostWorks })
  return {
    failed: (lease, work, error) => void failing.set(work, { lease, reason: reasonOf(error), until: now() + pause }),
    ended: (work) => void failing.delete(work),
    reason: () => {
      const reasons = new Set<string>()
      for (const [work, { lease, reason, until }] of [...failing.entries()]) {
        // Once its lease ends, another process tries it.
        if (until <= now() || isEnding(lease)) failing.delete(work)
        else reasons.add(reason)
      }
      return reasons.size === 0 ? undefined : [...reasons].slice(0, mostReasons).join('; ')
    },
  }
}
