import type { Position } from '../../../domain/event.js'
import { categories } from '../../../domain/events.js'
import { logTail, type LogTail } from '../../in-process/log-tail.js'
import type { LogReader } from './log-reader.js'

/** The tail of the log, which one subscription follows for all live subscriptions of this process. */
type SharedTail = {
  /** Begins to follow the log with the first call. Undefined when `signal` aborts before the head is known. */
  readonly open: (signal: AbortSignal) => Promise<LogTail | undefined>
  /** Takes events out that were truncated. */
  readonly remove: LogTail['remove']
  /** Resolves when the subscription has ended, which it does when the store closes. */
  readonly ended: () => Promise<void>
}

const capacity = { events: 4_096, bytes: 16_000_000 }

export const sharedTail = (
  { follow }: LogReader,
  /** The head of the log, retried until there is one; undefined when the signal aborts. */
  headOf: (signal: AbortSignal) => Promise<Position | undefined>,
  stopping: AbortSignal,
): SharedTail => {
  let following: { readonly tail: LogTail; readonly done: Promise<void> } | undefined

  const fill = async (tail: LogTail, head: Position): Promise<void> => {
    let position = head
    for await (const batch of follow({ after: head, categories, signal: stopping, retryFor: Infinity })) {
      tail.add(position, batch)
      position = batch.position
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
    remove: (isGone) => following?.tail.remove(isGone),
    ended: async () => {
      await following?.done
    },
  }
}
