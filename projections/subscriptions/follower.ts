import { abortable } from '../../domain/abortable.js'
import type { Category } from '../../domain/events.js'
import { beginning, type Position } from '../../domain/event.js'
import { reasonOf } from '../../domain/failure-reason.js'
import type { EventBatch, EventStore, Logger } from '../../domain/ports.js'
import { UndecodableEvent, type UndecodableEntry } from '../../domain/store-failed.js'
import { CannotFollow } from '../projection.js'
import { isLogged, type Backoff } from './retries/backoff.js'

/** What follows the log: where it begins and what it does with each batch. Either may throw, and is tried again. */
export type Follower = {
  readonly name: string
  readonly categories: ReadonlyArray<Category>
  /** Whatever it reads of the log before it can begin ends when `stopping` aborts. */
  readonly begin: (stopping: AbortSignal) => Promise<Position>
  readonly handle: (batch: EventBatch) => Promise<void>
  /**
   * Leaves out an event that can't be decoded, and goes on after it. Where this is not given, the follower stops there.
   */
  readonly skip?: (undecodable: UndecodableEntry) => Promise<void>
  /** Called when it is stopped, with the position that it has come to. */
  readonly end?: (position: Position) => Promise<void>
}

export type RunningFollower = {
  readonly name: string
  /**
   * The position up to which everything is handled, the head of the log where it has caught up; undefined until it
   * knows where it begins.
   */
  readonly position: () => Position | undefined
  /** Why it has stopped; undefined while it follows. */
  readonly failure: () => string | undefined
  /** Why it stands still for now and tries again; undefined while it goes on. */
  readonly retrying: () => string | undefined
  /**
   * Resolves once everything up to `position` is handled, or the follower has failed or was stopped, or `signal`
   * aborts: however long it stands still, whoever gave up does not wait.
   */
  readonly caughtUpTo: (position: Position, signal: AbortSignal) => Promise<void>
  readonly stop: () => Promise<void>
}

export type FollowPorts = {
  readonly store: EventStore
  readonly logger: Logger
  readonly backoff: Backoff
}

type Waiting = { readonly position: Position; readonly done: () => void }

/** What it meets on its way, until everything up to `until` is handled. */
type Obstacle = { readonly reason: string; readonly until: Position }

/**
 * Follows the log until it is stopped. Whatever fails is tried again for ever; only an event that can't be decoded or
 * folded stops the follower for good, unless it skips that one.
 */
export const follow = (follower: Follower, { store, logger, backoff }: FollowPorts): RunningFollower => {
  const stopping = new AbortController()
  let position: Position | undefined
  let failure: string | undefined
  let failures = 0
  let obstacle: Obstacle | undefined
  /** Where what it handles now ends; the beginning while it begins. */
  let handling = beginning

  const hasStopped = (): boolean => failure !== undefined || stopping.signal.aborted
  const { wake, reached } = waiters((wanted) => hasStopped() || (position !== undefined && wanted <= position))
  const moveTo = (handled: Position): void => {
    position = handled
    if (obstacle !== undefined && obstacle.until <= handled) obstacle = undefined
    wake()
  }

  const handleAll = async (): Promise<void> => {
    for await (const batch of store.subscribe(position ?? beginning, follower.categories, stopping.signal)) {
      handling = batch.position
      await follower.handle(batch)
      failures = 0
      moveTo(batch.position)
    }
  }
  /** Skips the event in front of which a subscription ended. */
  const skip = async (error: unknown): Promise<void> => {
    if (!(error instanceof UndecodableEvent) || follower.skip === undefined) throw error
    handling = error.entry.position
    await follower.skip(error.entry)
    moveTo(error.entry.position)
  }
  const attempt = async (): Promise<void> => {
    handling = beginning
    moveTo(await follower.begin(stopping.signal))
    while (!hasStopped()) await handleAll().catch(skip)
  }
  const run = async (): Promise<void> => {
    while (!hasStopped()) {
      try {
        await attempt()
      } catch (error) {
        if (stopping.signal.aborted) return
        const reason = reasonOf(error)
        if (error instanceof CannotFollow || error instanceof UndecodableEvent) {
          logger.error({ follower: follower.name, reason }, 'a follower of the log stopped')
          failure = reason
          wake()
        } else {
          if (isLogged(failures)) logger.warn({ follower: follower.name, reason }, 'a follower of the log tries again')
          obstacle = { reason, until: handling }
          await backoff(failures, stopping.signal)
          failures += 1
        }
      }
    }
  }
  const done = run()

  return {
    name: follower.name,
    position: () => position,
    failure: () => failure,
    retrying: () => obstacle?.reason,
    caughtUpTo: reached,
    stop: async () => {
      stopping.abort()
      wake()
      await done
      await follower.end?.(position ?? beginning)
    },
  }
}

/** Who waits for a position; `isOver` says whether nothing is left to wait for. */
export const waiters = (isOver: (position: Position) => boolean) => {
  const waiting = new Set<Waiting>()
  const wake = (): void => {
    for (const one of waiting) if (isOver(one.position)) one.done()
  }
  const reached = (position: Position, signal: AbortSignal): Promise<void> => {
    if (isOver(position)) return Promise.resolve()
    return abortable(signal, (done) => {
      const one = { position, done }
      waiting.add(one)
      return () => waiting.delete(one)
    })
  }
  return { wake, reached }
}
