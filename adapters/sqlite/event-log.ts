import { positionOf, type Position } from '../../domain/event.js'
import type { Category } from '../../domain/events.js'
import type { Instant } from '../../domain/instant.js'
import type { EventBatch, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow, UndecodableEvent } from '../../domain/store-failed.js'
import { readByPages } from '../in-process/stream-pages.js'
import { boundLimit } from './bound-limit.js'
import type { SqliteDatabase } from './database.js'
import { dataOf, decodeEvents, eventColumns, type StoredEventRow } from './event-codec.js'

/** What one read from the disk brings at most, and one event more: bounds how long it blocks the event loop. */
const pageSize = { events: 500, bytes: 4_000_000 }

/**
 * The next page of so many categories, each read in the order of its index and all merged as they are read: nothing is
 * looked at that is not wanted, and no more of it than a page.
 */
const pageOf = (categories: number): string => {
  const one = 'SELECT position FROM events WHERE category = ? AND position > ? AND position <= ?'
  const merged = `${Array.from({ length: categories }, () => one).join(' UNION ALL ')} ORDER BY position LIMIT ${pageSize.events}`
  return `SELECT ${eventColumns} FROM events WHERE position IN (${merged}) ORDER BY position`
}

/** The first rows, as many as a page has room for, and whether there may be more. */
const firstOf = (
  found: Iterable<StoredEventRow>,
): { readonly rows: ReadonlyArray<StoredEventRow>; readonly isFull: boolean } => {
  const rows: Array<StoredEventRow> = []
  let bytes = 0
  for (const row of found) {
    rows.push(row)
    bytes += dataOf(row).length
    if (bytes >= pageSize.bytes) break
  }
  return { rows, isFull: rows.length === pageSize.events || bytes >= pageSize.bytes }
}

type Reading = Pick<SqliteDatabase, 'read'>

/**
 * The half of the `EventStore` port that reads. No read outlives a page, so none keeps the write-ahead log from being
 * emptied.
 */
export const sqliteLog = (database: Reading) => {
  const head = (): Either<StoreFailure, Position> =>
    database.read((prepare) =>
      positionOf(BigInt(prepare<{ head: number | null }>('SELECT max(position) AS head FROM events').get()?.head ?? 0)),
    )

  const newestTime = (): Either<StoreFailure, Instant | undefined> =>
    database.read((prepare) => {
      const row = prepare<StoredEventRow>(`SELECT ${eventColumns} FROM events ORDER BY position DESC LIMIT 1`)
        .raw()
        .get()
      return row === undefined ? undefined : decodeEvents([row]).events[0]?.time
    })

  /**
   * A page after `position` at most, and never beyond `end`. It ends before an event that can't be decoded.
   * @throws UndecodableEvent where it would begin with one
   */
  const page = (position: Position, end: Position, categories: ReadonlyArray<Category>): EventBatch => {
    const each = [...new Set(categories)]
    const bounds = each.flatMap((category) => [category, position, end])
    const { rows, isFull } = orThrow(
      database.read((prepare) =>
        firstOf(
          prepare<StoredEventRow>(pageOf(each.length))
            .raw()
            .iterate(...bounds),
        ),
      ),
    )
    const { events, undecodable } = decodeEvents(rows)
    if (undecodable !== undefined && events.length === 0) throw new UndecodableEvent(undecodable)
    const isComplete = undecodable === undefined && !isFull
    return { events, position: isComplete ? end : (events.at(-1)?.position ?? end) }
  }

  async function* history(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const end = orThrow(head())
    let position = after
    while (position < end) {
      signal.throwIfAborted()
      const batch = page(position, end, categories)
      position = batch.position
      yield batch
      // Reads are synchronous: between two pages everything else has its turn.
      await new Promise(setImmediate)
    }
  }

  return { head, newestTime, history, ...streamReadsOf(database) }
}

const streamReadsOf = (database: Reading): Pick<EventStore, 'read' | 'readLast'> => {
  const eventsOf = (order: string, stream: string, from: number, limit: number) => {
    const sql = `SELECT ${eventColumns} FROM events WHERE stream = ? AND revision >= ? ORDER BY ${order} ${boundLimit}`
    const rows = database.read((prepare) => prepare<StoredEventRow>(sql).raw().all(stream, from, limit))
    if (E.isLeft(rows)) return rows
    const { events, undecodable } = decodeEvents(rows.right)
    return undecodable === undefined ? E.right(events) : E.left(undecodable.failure)
  }
  return {
    read: readByPages(async (stream, from, limit) => {
      // Reads are synchronous: between two pages everything else has its turn.
      if (from > 0) await new Promise(setImmediate)
      return eventsOf('revision', stream, from, limit)
    }),
    readLast: (stream, count) => {
      const newestFirst = eventsOf('revision DESC', stream, 0, count)
      return Promise.resolve(E.isLeft(newestFirst) ? newestFirst : E.right(newestFirst.right.toReversed()))
    },
  }
}
