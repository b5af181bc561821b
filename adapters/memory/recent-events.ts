import type { DomainEvent } from '../../domain/events.js'
import type { Position, Recorded } from '../../domain/event.js'
import type { EventBatch } from '../../domain/ports.js'

export type RecentEvents = {
  /** Adds all that stands in the log after `after` and up to the position of the batch. */
  readonly add: (after: Position, batch: EventBatch) => void
  /** Undefined when `position` lies before what is remembered. */
  readonly after: (
    position: Position,
    isWanted: (event: Recorded<DomainEvent>) => boolean,
    limit: number,
  ) => EventBatch | undefined
  /** Resolves at the next `add`, or when `signal` aborts. */
  readonly changed: (signal: AbortSignal) => Promise<void>
}

/**
 * The end of the log from `head` on, at least the newest `capacity` events of it, so that many live subscriptions of one
 * process read and parse it once.
 */
export const recentEvents = (head: Position, capacity: number): RecentEvents => {
  /** Every event after this position, and none before it, is remembered. */
  let before = head
  let end = head
  let events: Array<Recorded<DomainEvent>> = []
  let waiting: Array<() => void> = []

  const add: RecentEvents['add'] = (after, batch) => {
    // A commit whose answer was lost leaves a gap here, which only the log itself can fill.
    if (after !== end) {
      before = after
      events = []
    }
    events.push(...batch.events)
    end = batch.position
    const forgotten = events[events.length - capacity - 1]
    if (events.length > 2 * capacity && forgotten !== undefined) {
      before = forgotten.position
      events = events.slice(-capacity)
    }
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
  }

  const after: RecentEvents['after'] = (position, isWanted, limit) => {
    if (position < before) return undefined
    if (position >= end) return { events: [], position }
    const start = firstAfter(events, position)
    const slice = events.slice(start, start + limit)
    const isLast = start + slice.length === events.length
    return { events: slice.filter(isWanted), position: isLast ? end : (slice.at(-1)?.position ?? end) }
  }

  const changed: RecentEvents['changed'] = (signal) =>
    new Promise((resolve) => {
      if (signal.aborted) {
        resolve()
        return
      }
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        resolve()
      }
      waiting.push(wake)
      signal.addEventListener('abort', wake, { once: true })
    })

  return { add, after, changed }
}

/** Where the events after `position` begin. */
const firstAfter = (events: ReadonlyArray<Recorded<DomainEvent>>, position: Position): number => {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >> 1
    const event = events[middle]
    if (event !== undefined && event.position <= position) low = middle + 1
    else high = middle
  }
  return low
}
