import { categories as allCategories, type Category } from '../../../domain/events.js'
import type { Position } from '../../../domain/event.js'
import type { EventBatch, MonotonicClock } from '../../../domain/ports.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { backoffAfter } from '../../../projections/subscriptions/retries/backoff.js'
import { decodedPart, type EntryBatch } from '../../in-process/log-tail.js'
import { checkpointCategory, metadataPrefix } from '../event-codec.js'
import { catchUp, SubscriptionDropped, type CatchUpBatch } from './catch-up.js'
import type { ReconnectingClient } from '../client/reconnecting-client.js'
import type { RetryPolicy } from '../retry.js'

/** What is read of the log, from where, and for how many milliseconds without an answer. */
type LogPart = {
  readonly after: Position
  readonly categories: ReadonlyArray<Category>
  readonly signal: AbortSignal
  readonly retryFor: number
}

/** Reads the log without gap or repeat, with a new subscription whenever one is dropped. Both throw StoreFailed. */
export type ResubscribingReader = {
  /** History, then live; ends when the signal aborts. */
  readonly follow: (part: LogPart) => AsyncGenerator<CatchUpBatch>
  /** Throws when the signal aborts before `end` is reached. */
  readonly readUpTo: (end: Position, part: LogPart) => AsyncGenerator<EventBatch>
}

export const resubscribingReader = (
  client: ReconnectingClient,
  policy: RetryPolicy,
  monotonic: MonotonicClock,
): ResubscribingReader => {
  async function* follow({ after, categories, signal, retryFor }: LogPart): AsyncGenerator<CatchUpBatch> {
    // With the checkpoints and the truncations, which are no events of ours: where one is the head nobody would come to
    // it.
    const own = [...categories, checkpointCategory].map((category) => `${category}-`)
    const prefixes = [...own, ...allCategories.map((category) => `${metadataPrefix}${category}-`)]
    let position = after
    let failures = 0
    let answeredAt = monotonic.now()
    while (!signal.aborted) {
      try {
        for await (const batch of catchUp(client, position, prefixes, signal)) {
          failures = 0
          answeredAt = monotonic.now()
          position = batch.position
          yield batch
        }
      } catch (error) {
        if (!(error instanceof SubscriptionDropped)) throw error
        if (monotonic.now() - answeredAt > retryFor)
          throw new StoreFailed({ kind: 'unavailable', reason: error.message })
        await monotonic.sleep(backoffAfter(policy.backoff, failures), signal)
        failures += 1
      }
    }
  }

  async function* readUpTo(end: Position, part: LogPart): AsyncGenerator<EventBatch> {
    if (part.after >= end) return
    let reached = part.after
    for await (const { entries, position, isCaughtUp } of follow(part)) {
      // A subscription that caught up has read the log to its end: that of the leader, which lies no earlier than
      // `end`.
      const isLast = isCaughtUp || position >= end
      const readTo = isLast && position < end ? end : position
      let rest: EntryBatch = { entries, position: readTo }
      // A batch with an event that can't be decoded gives the events before that one first, and the error then.
      while (readTo > reached) {
        const decoded = decodedPart(rest)
        reached = decoded.position
        yield decoded
        rest = { entries: entries.filter((entry) => entry.position > reached), position: readTo }
      }
      if (isLast) return
    }
    part.signal.throwIfAborted()
  }

  return { follow, readUpTo }
}
