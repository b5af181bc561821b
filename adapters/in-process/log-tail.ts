import { abortable } from '../../domain/abortable.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { Position } from '../../domain/event.js'
import type { EventBatch } from '../../domain/ports.js'
import { UndecodableEvent, type UndecodableEntry } from '../../domain/store-failed.js'

/** Subscriptions to the category of an entry that can't be decoded stop there, the others skip it. */
export type LogEntry = RecordedEvent | UndecodableEntry

/** An `EventBatch` whose undecodable events still stand among the others, because not every subscriber wants them. */
export type EntryBatch = { readonly entries: ReadonlyArray<LogEntry>; readonly position: Position }

/**
 * The events of a batch up to the first one that can't be decoded.
 * @throws UndecodableEvent where the batch begins with one
 */
export const decodedPart = ({ entries, position }: EntryBatch): EventBatch => {
  const events: Array<RecordedEvent> = []
  for (const entry of entries) {
    if ('failure' in entry) {
      const last = events.at(-1)
      if (last === undefined) throw new UndecodableEvent(entry)
      return { events, position: last.position }
    }
    events.push(entry)
  }
  return { events, position }
}

/** The events of a stream before a revision are given to nobody any more. */
export type Truncation = { readonly stream: string; readonly before: number }

export const isTruncatedBy = ({ stream, before }: Truncation, entry: LogEntry): boolean =>
  entry.stream === stream && entry.revision < before

export type LogTail = {
  /** Adds all that stands in the log after `after` and up to the position of the batch. */
  readonly add: (after: Position, batch: EntryBatch) => void
  /** Takes out what was truncated. */
  readonly truncate: (truncation: Truncation) => void
  /** The wanted entries among the next `limit` ones; undefined when `position` lies before the tail. */
  readonly after: (position: Position, isWanted: (entry: LogEntry) => boolean, limit: number) => EntryBatch | undefined
  /**
   * Resolves once something was added, at the end of that turn of the event loop, or when `signal` aborts: appends that
   * the store commits together are then one batch for whoever follows, and not the first of them and then the others.
   */
  readonly changed: (signal: AbortSignal) => Promise<void>
}

type Capacity = {
  readonly events: number
  /** About. */
  readonly bytes: number
}

/**
 * The end of the log from `head` on in memory, at least its newest events up to `capacity`, at most twice as much: so
 * the live subscriptions of one process, however many, read and decode each event once.
 */
export const logTail = (head: Position, capacity: Capacity): LogTail => {
  /** The tail holds every event after this position, and none up to it. */
  let before = head
  let end = head
  let entries: Array<LogEntry> = []
  /** Of each entry, in bytes. */
  let sizes: Array<number> = []
  let bytes = 0
  const waiting = new Set<() => void>()
  let isWaking = false

  const wakeSoon = (): void => {
    if (isWaking) return
    isWaking = true
    setImmediate(() => {
      isWaking = false
      for (const wake of waiting) wake()
    })
  }

  const drop = (oldest: number): void => {
    before = entries[oldest - 1]?.position ?? before
    entries = entries.slice(oldest)
    for (const size of sizes.slice(0, oldest)) bytes -= size
    sizes = sizes.slice(oldest)
  }

  /** How many of the oldest are more than it must hold. */
  const surplus = (): number => {
    let oldest = Math.max(entries.length - capacity.events, 0)
    let held = sizes.slice(oldest).reduce((sum, size) => sum + size, 0)
    for (; held > capacity.bytes; oldest += 1) held -= sizes[oldest] ?? held
    return oldest
  }

  const add: LogTail['add'] = (after, batch) => {
    // An append whose answer was lost is missing here, and only a read of the log can fill the gap.
    if (after !== end) {
      drop(entries.length)
      before = after
    }
    for (const entry of batch.entries) {
      const size = approximateBytes(entry)
      entries.push(entry)
      sizes.push(size)
      bytes += size
    }
    end = batch.position
    if (entries.length > 2 * capacity.events || bytes > 2 * capacity.bytes) drop(surplus())
    wakeSoon()
  }

  const after: LogTail['after'] = (position, isWanted, limit) => {
    if (position < before) return undefined
    if (position >= end) return { entries: [], position }
    const start = firstAfter(entries, position)
    const slice = entries.slice(start, start + limit)
    const isLast = start + slice.length === entries.length
    return { entries: slice.filter(isWanted), position: isLast ? end : (slice.at(-1)?.position ?? end) }
  }

  const truncate: LogTail['truncate'] = (truncation) => {
    const kept = entries.map((entry) => !isTruncatedBy(truncation, entry))
    bytes -= sizes.filter((_, index) => kept[index] !== true).reduce((sum, size) => sum + size, 0)
    entries = entries.filter((_, index) => kept[index])
    sizes = sizes.filter((_, index) => kept[index])
  }

  const changed: LogTail['changed'] = (signal) =>
    abortable(signal, (done) => {
      waiting.add(done)
      return () => waiting.delete(done)
    })

  return { add, truncate, after, changed }
}

/** The index of the first entry after `position`. */
const firstAfter = (entries: ReadonlyArray<LogEntry>, position: Position): number => {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    const entry = entries[middle]
    if (entry !== undefined && entry.position <= position) low = middle + 1
    else high = middle
  }
  return low
}
