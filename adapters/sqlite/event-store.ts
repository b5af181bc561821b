import { exceedsLargestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import { categoryOf, type Category } from '../../domain/events.js'
import { positionOf, type Position } from '../../domain/event.js'
import type { EventBatch, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow, UndecodableEvent } from '../../domain/store-failed.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { logTail } from '../in-process/log-tail.js'
import { readByPages } from '../in-process/stream-pages.js'
import type { SqliteDatabase } from './database.js'
import { decodeEvents, encodeEvent, eventColumns, recordedAs, type StoredEventRow } from './event-codec.js'

/** Events that one read from the disk brings: bounds how long it blocks the event loop. */
const pageSize = 500

/** Events that live subscriptions find in memory. */
const tailCapacity = { events: 1_024, bytes: 8_000_000 }

/**
 * The next page of so many categories, each read in the order of its index and all merged as they are read: nothing is looked
 * at that is not wanted, and no more of it than a page.
 */
const pageOf = (categories: number): string => {
  const one = 'SELECT position FROM events WHERE category = ? AND position > ? AND position <= ?'
  const merged = `${Array.from({ length: categories }, () => one).join(' UNION ALL ')} ORDER BY position LIMIT ${pageSize}`
  return `SELECT ${eventColumns} FROM events WHERE position IN (${merged}) ORDER BY position`
}

/** The `EventStore` port on the embedded database. */
export const sqliteEventStore = (database: SqliteDatabase): EventStore => {
  const head = (): Either<StoreFailure, Position> =>
    database.read((prepare) =>
      positionOf(BigInt(prepare<{ head: number | null }>('SELECT max(position) AS head FROM events').get()?.head ?? 0)),
    )
  const tail = logTail(orThrow(head()), tailCapacity)

  const { read, readLast } = streamReadsOf(database)

  const append: EventStore['append'] = async (stream, expected, events) => {
    if (exceedsLargestAppend(events)) return E.left(tooLargeAppend)
    const written = await database.write({
      kind: 'append',
      stream,
      category: categoryOf(stream),
      expected: expected === 'no-stream' ? -1 : expected,
      events: events.map(encodeEvent),
    })
    if (E.isLeft(written)) return written
    const result = written.right
    if (result.kind !== 'appended' && result.kind !== 'repeated') return E.left({ kind: 'conflict' })
    const position = positionOf(BigInt(result.position))
    if (result.kind === 'appended') {
      const before = events.length - 1
      const entries = events.map((event, index) =>
        recordedAs(event, stream, result.revision - before + index, result.position - before + index),
      )
      tail.add(positionOf(position - BigInt(events.length)), { entries, position })
    }
    return E.right({ revision: result.revision, position })
  }

  /**
   * A page after `position` at most, and never beyond `end`. It ends before an event that can't be decoded.
   * @throws UndecodableEvent where it would begin with one
   */
  const page = (position: Position, end: Position, categories: ReadonlyArray<Category>): EventBatch => {
    const each = [...new Set(categories)]
    const bounds = each.flatMap((category) => [category, position, end])
    const rows = orThrow(database.read((prepare) => prepare<StoredEventRow>(pageOf(each.length)).all(...bounds)))
    const { events, undecodable } = decodeEvents(rows)
    if (undecodable !== undefined && events.length === 0) throw new UndecodableEvent(undecodable)
    const isComplete = undecodable === undefined && events.length < pageSize
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

  const subscribe: EventStore['subscribe'] = (after, categories, signal) =>
    liveSubscription(tail, history, after, categories, signal)

  return {
    read,
    readLast,
    append,
    subscribe,
    history,
    head: () => Promise.resolve(head()),
    ...checkpointsOf(database),
    positionUnit: 'events',
  }
}

const checkpointsOf = (database: SqliteDatabase): Pick<EventStore, 'checkpoint' | 'saveCheckpoint'> => ({
  checkpoint: (follower) =>
    Promise.resolve(
      database.read((prepare) => {
        const saved = prepare<{ position: number }>('SELECT position FROM checkpoints WHERE follower = ?').get(follower)
        return positionOf(BigInt(saved?.position ?? 0))
      }),
    ),
  saveCheckpoint: async (follower, position) =>
    E.asUnit(await database.write({ kind: 'checkpoint', follower, position: Number(position) })),
})

const streamReadsOf = (database: SqliteDatabase): Pick<EventStore, 'read' | 'readLast'> => {
  const eventsOf = (order: string, stream: string, from: number, limit: number) => {
    const sql = `SELECT ${eventColumns} FROM events WHERE stream = ? AND revision >= ? ORDER BY ${order} LIMIT ?`
    const rows = database.read((prepare) => prepare<StoredEventRow>(sql).all(stream, from, limit))
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
