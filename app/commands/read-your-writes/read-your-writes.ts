import type { RecordedEvent } from '../../../domain/events.js'
import type { AnyProjection } from '../../../projections/projection.js'
import type { Documents } from '../../../projections/ports.js'
import type { LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'

/**
 * Whoever got an answer finds what it wrote with the next request, which a read model shows only once it has
 * caught up with the log. Where that request may come to another process, the command waits for it
 * (`waiting-commands.ts`); where it can only come to this one, the request itself does (`waiting-queries.ts`), so that
 * a lead is answered as soon as it can't be lost.
 */
export type ReadYourWrites = {
  /** Resolves when a command that brought about these events may be answered. */
  readonly untilAnswerable: (events: ReadonlyArray<RecordedEvent>) => Promise<void>
  /** The documents that requests read. */
  readonly documents: Documents
}

/** A read model that answers requests, and the follower that maintains it. */
export type ServedReadModel = {
  readonly projection: AnyProjection
  readonly follower: Pick<LeasedFollower, 'caughtUpTo'>
}
