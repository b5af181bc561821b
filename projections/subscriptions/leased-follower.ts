import type { Position } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { aborted } from './aborted.js'
import type { Following } from './follower.js'
import type { Lease } from './leases.js'
import type { Collection, Documents } from '../ports.js'

/** A follower that one process at a time runs: the one that holds the lease on its name. */
export type LeasedFollower = {
  readonly name: string
  /** Follows the log under the lease until it is lost. */
  readonly work: (lease: Lease) => Promise<void>
  /** How far it has come, in whichever process it runs; undefined when that can't be read now. */
  readonly position: () => Promise<Position | undefined>
  /** Why it stands still; undefined while it follows, or is followed elsewhere. */
  readonly failure: () => string | undefined
  /** Resolves once everything up to `position` is handled where this process follows, at once where it does not. */
  readonly caughtUp: (position: Position) => Promise<void>
  /** Resolves once everything up to `position` is handled, or `signal` aborts; at once where it stands still for good. */
  readonly reached: (position: Position, signal: AbortSignal) => Promise<void>
}

type LeasedFollowerPorts = {
  readonly documents: Documents
  /** Waits before the checkpoint of a follower elsewhere is read again: a few milliseconds, more with each try. */
  readonly nap: (tries: number, signal: AbortSignal) => Promise<void>
}

/** `checkpoint` holds how far the follower has come, for the other processes. */
export const leasedFollower = (
  name: string,
  checkpoint: Collection,
  start: (lease: Lease) => Following,
  { documents, nap }: LeasedFollowerPorts,
): LeasedFollower => {
  let following: Following | undefined

  const position: LeasedFollower['position'] = async () => {
    if (following !== undefined) return following.position()
    const stored = await documents.checkpoint(checkpoint)
    return E.isLeft(stored) ? undefined : stored.right
  }
  return {
    name,
    work: async (lease) => {
      const mine = start(lease)
      following = mine
      await aborted(lease.lost)
      following = undefined
      await mine.stop()
    },
    position,
    caughtUp: async (wanted) => {
      await following?.reached(wanted)
    },
    failure: () => following?.failure(),
    reached: async (wanted, signal) => {
      for (let tries = 0; !signal.aborted; tries += 1) {
        // One that ends here goes on elsewhere.
        if (following !== undefined) await unlessAborted(following.reached(wanted), signal)
        if (following?.failure() !== undefined) return
        const now = await position()
        if (now !== undefined && now >= wanted) return
        await nap(tries, signal)
      }
    },
  }
}

/** Resolves with `work`, and early when `signal` aborts. */
const unlessAborted = (work: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    void work.then(end)
  })
