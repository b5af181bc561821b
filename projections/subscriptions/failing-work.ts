import { LRUCache } from 'lru-cache'
import { reasonOf } from '../../domain/failure-reason.js'
import type { Time } from '../../domain/ports.js'

/** What a worker under leases fails at and tries again: health tells of it while that lasts. */
export type FailingWork = {
  /** `work` failed, and is tried again soon. */
  readonly failed: (work: string, error: unknown) => void
  /** `work` is done, or nobody tries it any more. */
  readonly ended: (work: string) => void
  /** Why something is tried again, in words that hold no value; undefined where nothing is. */
  readonly reason: () => string | undefined
}

/** Works that are known at most: while so many fail, one that is forgotten is told of by the others. */
const mostWorks = 1_000

/** In milliseconds: what did not fail again for so long is not tried any more, as where a delivery was given up meanwhile. */
const longestPause = 60_000

export const failingWork = ({ now }: Pick<Time, 'now'>): FailingWork => {
  const failing = new LRUCache<string, { readonly reason: string; readonly until: number }>({ max: mostWorks })
  return {
    failed: (work, error) => {
      failing.set(work, { reason: reasonOf(error), until: now() + longestPause })
    },
    ended: (work) => void failing.delete(work),
    reason: () => {
      for (const [work, { reason, until }] of [...failing.entries()]) {
        if (until > now()) return reason
        failing.delete(work)
      }
      return undefined
    },
  }
}
