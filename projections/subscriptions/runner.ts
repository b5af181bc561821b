import type { EventBatch, MonotonicClock } from '../../domain/ports.js'
import { beginning } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { follow, type FollowPorts, type RunningFollower } from './follower.js'
import type { Documents, Stored } from '../ports.js'
import { buildAlone, type Build } from './rebuild.js'
import { changesOf, collectionOf, keysToRead, writtenOrThrow, type AnyProjection } from '../projection.js'

/** One in so many batches that change nothing saves the checkpoint, since each save is a write. */
const idleBatches = 100

/** Milliseconds until the checkpoint of a read model that has nothing to do is saved for other processes to see. */
const idleDelay = 800

const none: ReadonlyMap<string, Stored> = new Map()

type RunnerPorts = FollowPorts & {
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  readonly documents: Documents
  /** How it is built where it is missing. */
  readonly build: Build
  /**
   * Whether other processes wait for the checkpoint. They know only the position of the last event of an append; the
   * event that concerns this read model may stand before it, in another batch, so every batch with events saves the
   * checkpoint.
   */
  readonly isWaitedFor: boolean
}

/** A read model that is maintained. */
export type RunningProjection = RunningFollower & {
  /**
   * Builds it anew beside what is served and then puts that in its place, while it goes on being maintained; gives the
   * number of its documents.
   * @throws CannotFollow and Error when a store fails or it is stopped; what is served stays as it was
   */
  readonly rebuild: () => Promise<number>
}

/**
 * Maintains a read model: a batch of events becomes one change for each document, written with the checkpoint. A read
 * model that is missing, or missing in this version, is built from the whole log first; where that is interrupted, it
 * goes on from where it came to.
 */
export const runProjection = (projection: AnyProjection, ports: RunnerPorts): RunningProjection => {
  const { store, documents, logger, monotonic, build, isWaitedFor } = ports
  const collection = collectionOf(projection)
  let saved = beginning
  /** Batches since the last one that was saved. */
  let idle = 0
  /** Everything up to here is written. A checkpoint beyond it would lose what is still to be written. */
  let handled = beginning
  let isSavingSoon = false
  let hasBegun = false
  let lastWrite: Promise<unknown> = Promise.resolve()
  const stopping = new AbortController()

  /** Writes wait for each other: some servers lose one of two concurrent updates of a checkpoint. */
  const afterOtherWrites = (write: () => Promise<unknown>): Promise<unknown> => {
    lastWrite = lastWrite.then(write, write)
    return lastWrite
  }

  /** Without this, a read model that has nothing to do would look to other processes as if it lagged. */
  const saveSoon = async (): Promise<void> => {
    if (isSavingSoon) return
    isSavingSoon = true
    await monotonic.sleep(idleDelay, stopping.signal)
    isSavingSoon = false
    await afterOtherWrites(async () => {
      if (handled > saved && !stopping.signal.aborted) await documents.apply(collection, [], handled)
    })
  }
  const follower = follow(
    {
      name: projection.name,
      categories: projection.categories,
      begin: async (signal) => {
        if (!orThrow(await documents.exists(collection))) {
          logger.debug({ readModel: projection.name }, 'building a read model from the log')
          await build({ projection, documents }, store, signal)
          orThrow(await documents.promote(collection))
        } else if (!hasBegun) {
          // What an interrupted rebuild left behind would keep what an erasure removes. Later one may be under way,
          // here or elsewhere.
          orThrow(await documents.drop(collectionOf(projection, 'next')))
        }
        hasBegun = true
        saved = orThrow(await documents.confirmedCheckpoint(collection))
        handled = saved
        return saved
      },
      handle: async ({ events, position }) => {
        const mine = events.filter((event) => projection.keyOf(event) !== undefined)
        const isIdle = mine.length === 0 && !(isWaitedFor && events.length > 0)
        if (isIdle && idle + 1 < idleBatches) {
          idle += 1
          handled = position
          if (isWaitedFor) void saveSoon()
          return
        }
        idle = 0
        await afterOtherWrites(async () => {
          await applyBatch(projection, documents, { events: mine, position })
          handled = position
          saved = position
        })
      },
      end: async (position) => {
        stopping.abort()
        // A failure is ignored: what was not saved is handled again and changes nothing.
        if (position > saved) await afterOtherWrites(() => documents.apply(collection, [], position))
      },
    },
    ports,
  )
  return { ...follower, rebuild: () => rebuildBeside(projection, ports, afterOtherWrites, stopping.signal) }
}

/**
 * Builds a read model anew beside the live one. While it takes that one's place live writes wait, so that it has all
 * that they wrote.
 */
const rebuildBeside = async (
  projection: AnyProjection,
  { store, documents, build, backoff }: RunnerPorts,
  afterOtherWrites: (write: () => Promise<unknown>) => Promise<unknown>,
  signal: AbortSignal,
): Promise<number> => {
  const next = collectionOf(projection, 'next')
  let count = 0
  try {
    orThrow(await documents.drop(next))
    await build({ projection, documents }, store, signal)
    await afterOtherWrites(async () => {
      await buildAlone({ projection, documents }, store, signal)
      count = orThrow(await documents.count(next))
      orThrow(await documents.promote(collectionOf(projection)))
    })
  } catch (error) {
    // What it has read must not outlast an erasure. Where it is stopped first the next start does it.
    for (let failures = 0; E.isLeft(await documents.drop(next)) && !signal.aborted; failures += 1)
      await backoff(failures, signal)
    throw error
  }
  // It may have replaced what was erased meanwhile.
  await documents.purge()
  return count
}

/**
 * Folds a batch into the live read model.
 * @throws CannotFollow, and StoreFailed
 */
export const applyBatch = async (
  projection: AnyProjection,
  documents: Documents,
  { events, position }: EventBatch,
): Promise<void> => {
  const live = collectionOf(projection)
  const keys = keysToRead(projection, events)
  const before = keys.length === 0 ? none : orThrow(await documents.getToFold(live, keys))
  writtenOrThrow(projection, await documents.apply(live, changesOf(projection, before, events), position))
}
