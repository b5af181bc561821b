import type { Category } from '../../domain/events.js'
import { beginning, type Position } from '../../domain/event.js'
import type { EventBatch, EventStore, Logger } from '../../domain/ports.js'
import { UndecodableEvent } from '../../domain/store-failed.js'
import { CannotFollow } from '../projection.js'
import type { Backoff } from './backoff.js'
import { reasonOf } from './failure-reason.js'

/** What follows the log: where it begins and what it does with each batch. Either may throw, and is tried again. */
export type Follower = {
  readonly name: string
  readonly categories: ReadonlyArray<Category>
  /** Whatever it reads of the log before it can begin ends when `stopping` aborts. */
  readonly begin: (stopping: AbortSignal) => Promise<Position>
  readonly handle: (batch: EventBatch) => Promise<void>
  /** Called when it is stopped, with the position that it has come to. */
  readonly end?: (position: Position) => Promise<void>
}

export type RunningFollower = {
  readonly name: string
  /**
   * The position up to which everything is handled, the head of the log where it has caught up; undefined until it knows
   * where it begins.
   */
  readonly position: () => Position | undefined
  /** Why it has stopped; undefined while it follows. */
  readonly failure: () => string | undefined
  /** Resolves once everything up to `position` is handled, or the follower has failed or was stopped. */
  readonly caughtUpTo: (position: Position) => Promise<void>
  readonly stop: () => Promise<void>
}

export type FollowPorts = {
  readonly store: EventStore
  readonly logger: Logger
  readonly backoff: Backoff
}

type Waiting = { readonly position: Position; readonly resolve: () => void }

/**
 * Follows the log until it is stopped. A store that fails is asked again for ever; an event that can't be decoded or
 * handled stops the follower for good.
 */
export const follow = (follower: Follower, { store, logger, backoff }: FollowPorts): RunningFollower => {
  const stopping = new AbortController()
  let waiting: Array<Waiting> = []
  let position: Position | undefined
  let failure: string | undefined
  let failures = 0

  const hasStopped = (): boolean => failure !== undefined || stopping.signal.aborted
  const isOver = (wanted: Position): boolean => hasStopped() || (position !== undefined && wanted <= position)
  const wake = (): void => {
    if (waiting.length === 0) return
    const all = waiting
    waiting = []
    for (const one of all) {
      if (isOver(one.position)) one.resolve()
      else waiting.push(one)
    }
  }
  const moveTo = (handled: Position): void => {
    position = handled
    wake()
  }

  const attempt = async (): Promise<void> => {
    const begun = await follower.begin(stopping.signal)
    moveTo(begun)
    for await (const batch of store.subscribe(begun, follower.categories, stopping.signal)) {
      await follower.handle(batch)
      failures = 0
      moveTo(batch.position)
    }
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
          logger.warn({ follower: follower.name, reason }, 'a follower of the log tries again')
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
    caughtUpTo: (wanted) =>
      new Promise((resolve) => {
        if (isOver(wanted)) resolve()
        else waiting.push({ position: wanted, resolve })
      }),
    stop: async () => {
      stopping.abort()
      wake()
      await done
      await follower.end?.(position ?? beginning)
    },
  }
}
