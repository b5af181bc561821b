import { abortable } from '../../domain/abortable.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Position, Recorded } from '../../domain/event.js'
import type { EventBatch, StoreFailure } from '../../domain/ports.js'
import { UndecodableEvent } from '../../domain/store-failed.js'

/** Stands in the log and can't be decoded: who wants its category stops there, and nobody else notices. */
export type Undecodable = { readonly stream: string; readonly position: Position; readonly failure: StoreFailure }

export type LogEntry = Recorded<DomainEvent> | Undecodable

/** As `EventBatch`, before it is known who wants what of it. */
export type EntryBatch = { readonly entries: ReadonlyArray<LogEntry>; readonly position: Position }

/**
 * What can be read of a batch: it ends before an event that can't be decoded.
 * @throws UndecodableEvent where it would begin with one
 */
export const readableOf = ({ entries, position }: EntryBatch): EventBatch => {
  const events: Array<Recorded<DomainEvent>> = []
  for (const entry of entries) {
    if ('failure' in entry) {
      const last = events.at(-1)
      if (last === undefined) throw new UndecodableEvent(entry.failure)
      return { events, position: last.position }
    }
    events.push(entry)
  }
  return { events, position }
}

export type RecentEvents = {
  /** Adds all that stands in the log after `after` and up to the position of the batch. */
  readonly add: (after: Position, batch: EntryBatch) => void
  /** Undefined when `position` lies before what is remembered. */
  readonly after: (position: Position, isWanted: (entry: LogEntry) => boolean, limit: number) => EntryBatch | undefined
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
  let events: Array<LogEntry> = []
  let waiting: Array<() => void> = []

  const add: RecentEvents['add'] = (after, batch) => {
    // A commit whose answer was lost leaves a gap here, which only the log itself can fill.
    if (after !== end) {
      before = after
      events = []
    }
    events.push(...batch.entries)
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
    if (position >= end) return { entries: [], position }
    const start = firstAfter(events, position)
    const slice = events.slice(start, start + limit)
    const isLast = start + slice.length === events.length
    return { entries: slice.filter(isWanted), position: isLast ? end : (slice.at(-1)?.position ?? end) }
  }

  const changed: RecentEvents['changed'] = (signal) => abortable(signal, (done) => void waiting.push(done))

  return { add, after, changed }
}

/** Where the events after `position` begin. */
const firstAfter = (events: ReadonlyArray<LogEntry>, position: Position): number => {
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
