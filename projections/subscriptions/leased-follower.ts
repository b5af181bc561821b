import { aborted, abortable, over } from '../../domain/abortable.js'
import { beginning, type Position } from '../../domain/event.js'
import type { EventStore } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import type { Collection, Documents } from '../ports.js'
import type { Backoff } from './retries/backoff.js'
import type { RunningFollower } from './follower.js'
import type { Lease } from './leases.js'

/** A follower that one process at a time runs: the one that holds the lease on its name. */
export type LeasedFollower = {
  readonly name: string
  /** Follows the log under the lease until that is ending. */
  readonly run: (lease: Lease) => Promise<void>
  /** How far it has come, in whichever process it runs; undefined when that can't be read now. */
  readonly position: () => Promise<Position | undefined>
  /**
   * The same, and of a read model that is being built how far that has come, though it shows nothing yet; of one that
   * saves its checkpoint in the event store too and does not run here yet, the further one.
   */
  readonly furthestPosition: () => Promise<Position | undefined>
  /** Why it has stopped; undefined while it follows, or runs elsewhere. */
  readonly failure: () => string | undefined
  /** Why it stands still for now and tries again; undefined while it goes on, or runs elsewhere. */
  readonly retrying: () => string | undefined
  /**
   * Resolves once everything up to `position` is handled, or `signal` aborts; at once where it has stopped for good.
   */
  readonly caughtUpTo: (position: Position, signal: AbortSignal) => Promise<void>
  /** The same where it runs in this process; resolves at once where it does not. */
  readonly caughtUpHere: (position: Position, signal: AbortSignal) => Promise<void>
}

type Ports = {
  readonly documents: Pick<Documents, 'checkpoint'>
  /** Where it saves its checkpoint too; read models do not. */
  readonly store?: Pick<EventStore, 'checkpoint'>
  /** Between two looks at the checkpoint of a follower that runs elsewhere. */
  readonly pollBackoff: Backoff
}

type Waiting = { readonly wanted: Position; readonly end: (isDone: boolean) => void }

const isReached = (now: Position | undefined, wanted: Position): boolean => now !== undefined && now >= wanted

/**
 * One poll for all who wait for a follower that runs elsewhere. It begins anew with short pauses whenever somebody
 * joins them. `look` gives the position, `isHere` says whether the follower runs in this process by now: then nobody is
 * left waiting.
 */
const sharedPoll = (look: LeasedFollower['position'], isHere: () => boolean, backoff: Backoff) => {
  const waiting = new Set<Waiting>()
  let pause = new AbortController()
  let polls = 0
  let isPolling = false

  const poll = async (): Promise<void> => {
    isPolling = true
    while (waiting.size > 0) {
      const now = await look()
      for (const { wanted, end } of waiting) {
        if (isReached(now, wanted) || isHere()) end(isReached(now, wanted))
      }
      if (waiting.size === 0) break
      pause = new AbortController()
      polls += 1
      await backoff(polls - 1, pause.signal)
    }
    isPolling = false
  }
  /** Whether the position is reached; where it is not, `signal` has aborted, or the follower runs here. */
  return async (wanted: Position, signal: AbortSignal): Promise<boolean> => {
    let result = false
    await abortable(signal, (done) => {
      const one: Waiting = {
        wanted,
        end: (isDone) => {
          result = isDone
          done()
        },
      }
      waiting.add(one)
      if (!isPolling) {
        polls = 0
        void poll()
      } else if (polls > 1) {
        // The shortest pause is over soon: ended by each who joins, there would be a look for each.
        polls = 0
        pause.abort(over)
      }
      return () => {
        waiting.delete(one)
        if (waiting.size === 0) pause.abort(over)
      }
    })
    return result
  }
}

/**
 * `checkpoint` holds how far the follower has come, for the other processes; `here` is the follower where it runs in
 * this one.
 */
export const leasedFollower = <Running extends RunningFollower>(
  name: string,
  checkpoint: Collection,
  start: (lease: Lease) => Running,
  { documents, store, pollBackoff }: Ports,
): LeasedFollower & { readonly here: () => Running | undefined } => {
  let running: Running | undefined

  const storedIn = async (collection: Collection): Promise<Position | undefined> => {
    const stored = await documents.checkpoint(collection)
    return E.isLeft(stored) ? undefined : stored.right
  }
  // Where it does not know its own it runs elsewhere, or has just begun here.
  const position = async (): Promise<Position | undefined> => running?.position() ?? storedIn(checkpoint)
  const polled = sharedPoll(position, () => running !== undefined, pollBackoff)
  return {
    name,
    here: () => running,
    run: async (lease) => {
      const mine = start(lease)
      running = mine
      await aborted(lease.ending)
      running = undefined
      await mine.stop()
    },
    position,
    furthestPosition: async () => {
      const now = await position()
      const savedToo = running?.position() === undefined ? await store?.checkpoint(name) : undefined
      if (now !== undefined && savedToo !== undefined && E.isRight(savedToo) && savedToo.right > now)
        return savedToo.right
      return now === beginning ? storedIn({ ...checkpoint, generation: 'next' }) : now
    },
    failure: () => running?.failure(),
    retrying: () => running?.retrying(),
    caughtUpTo: async (wanted, signal) => {
      while (!signal.aborted) {
        // Where the lease is lost meanwhile another process goes on, and its checkpoint is polled.
        await running?.caughtUpTo(wanted, signal)
        if (running?.failure() !== undefined || isReached(running?.position(), wanted)) return
        if (await polled(wanted, signal)) return
      }
    },
    caughtUpHere: async (wanted, signal) => {
      await running?.caughtUpTo(wanted, signal)
    },
  }
}
