import { beginning, type Position } from '../../../domain/event.js'
import { categories } from '../../../domain/events.js'
import { isTruncatedBy, logTail, type LogEntry, type LogTail, type Truncation } from '../../in-process/log-tail.js'
import type { ResubscribingReader } from './resubscribing-reader.js'

/** The tail of the log, which one subscription follows for all live subscriptions of this process. */
type SharedTail = {
  /** Begins to follow the log with the first call. Undefined when `signal` aborts before the head is known. */
  readonly open: (signal: AbortSignal) => Promise<LogTail | undefined>
  /** Takes out what this process truncated, also what has not come here yet. `position`: of the truncation. */
  readonly truncate: (truncation: Truncation, position: Position) => void
  /** Resolves when the subscription has ended, which it does when the store closes. */
  readonly ended: () => Promise<void>
}

const capacity = { events: 4_096, bytes: 16_000_000 }

export const sharedTail = (
  { follow }: ResubscribingReader,
  /** The head of the log, retried until there is one; undefined when the signal aborts. */
  headOf: (signal: AbortSignal) => Promise<Position | undefined>,
  stopping: AbortSignal,
): SharedTail => {
  let following: { readonly tail: LogTail; readonly done: Promise<void> } | undefined
  let reached = beginning
  /** By stream: what this process truncated, until the subscription tells of it too. */
  const untold = new Map<string, Truncation>()
  const isLeft = (entry: LogEntry): boolean => {
    const truncation = untold.get(entry.stream)
    return truncation === undefined || !isTruncatedBy(truncation, entry)
  }

  const fill = async (tail: LogTail, head: Position): Promise<void> => {
    reached = head
    const part = { after: head, categories, signal: stopping, retryFor: Infinity }
    for await (const { entries, position, truncations } of follow(part)) {
      tail.add(reached, { entries: entries.filter(isLeft), position })
      for (const truncation of truncations) {
        tail.truncate(truncation)
        if (truncation.before >= (untold.get(truncation.stream)?.before ?? Infinity)) untold.delete(truncation.stream)
      }
      reached = position
    }
  }
  return {
    open: async (signal) => {
      const head = following === undefined ? await headOf(signal) : undefined
      // Another call may have begun to follow the log meanwhile.
      if (following === undefined && head !== undefined) {
        const tail = logTail(head, capacity)
        following = { tail, done: fill(tail, head) }
      }
      return following?.tail
    },
    truncate: (truncation, position) => {
      if (following === undefined) return
      following.tail.truncate(truncation)
      if (position > reached) untold.set(truncation.stream, truncation)
    },
    ended: async () => {
      await following?.done
    },
  }
}
