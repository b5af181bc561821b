import { categoryOf, type Category, type DomainEvent } from '../../domain/events.js'
import type { Position, Recorded } from '../../domain/event.js'
import type { Instant } from '../../domain/instant.js'
import type { EventBatch, EventStore, NewEvent, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow, UndecodableEvent } from '../../domain/store-failed.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import type { SqliteDatabase } from './database.js'
import type { EventRow } from './write.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { logTail } from '../in-process/log-tail.js'

type Row = {
  readonly position: number
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly time: string
  readonly correlation_id: string
  readonly causation_id: string
  readonly schema_version: number
  readonly actor: string
  readonly data: string
}

const columns = 'position, stream, revision, id, type, time, correlation_id, causation_id, schema_version, actor, data'

/** Events that one read from the disk brings: bounds how long the loop stands still for it. */
const pageSize = 500

/** Positions that one read looks at when it filters: bounds the same where few events are wanted. */
const stretchSize = 5_000n

/** The `EventStore` port on the embedded database. */
export const sqliteEventStore = (database: SqliteDatabase): EventStore => {
  const head = (): Either<StoreFailure, Position> =>
    database.read((prepare) =>
      BigInt(prepare<{ head: number | null }>('SELECT max(position) AS head FROM events').get()?.head ?? 0),
    )
  const recent = logTail(orThrow(head()), 1024)

  const read: EventStore['read'] = (stream) => {
    const rows = database.read((prepare) =>
      prepare<Row>(`SELECT ${columns} FROM events WHERE stream = ? ORDER BY revision`).all(stream),
    )
    if (rows._tag === 'Left') return Promise.resolve(rows)
    const { events, failure } = decoded(rows.right)
    if (failure !== undefined) return Promise.resolve(E.left(failure))
    return Promise.resolve(E.right({ events, revision: events.at(-1)?.revision ?? 'no-stream' }))
  }

  const append: EventStore['append'] = async (stream, expected, events) => {
    const written = await database.write({
      kind: 'append',
      stream,
      category: categoryOf(stream),
      expected: expected === 'no-stream' ? -1 : expected,
      events: events.map(rowOf),
    })
    if (written._tag === 'Left') return written
    const result = written.right
    if (result.kind !== 'appended' && result.kind !== 'repeated') return E.left({ kind: 'conflict' })
    const position = BigInt(result.position)
    if (result.kind === 'appended') {
      const before = events.length - 1
      const recorded = events.map((event, index) =>
        recordedAs(event, stream, result.revision - before + index, result.position - before + index),
      )
      recent.add(position - BigInt(events.length), { entries: recorded, position })
    }
    return E.right({ revision: result.revision, position })
  }

  /**
   * At most a page after `position`, and never beyond `end`. It ends before an event that can't be decoded.
   * @throws UndecodableEvent where it would begin with one
   */
  const page = (position: Position, end: Position, categories: ReadonlyArray<Category>): EventBatch => {
    // One category has an index of its own; several are picked out of a stretch of the log.
    const stretch = position + stretchSize
    const last = categories.length === 1 || stretch > end ? end : stretch
    const isWanted = categories.length === 1 ? 'category = ?' : `+category IN (${categories.map(() => '?').join(', ')})`
    const sql = `SELECT ${columns} FROM events WHERE ${isWanted} AND position > ? AND position <= ?
                 ORDER BY position LIMIT ${pageSize}`
    const rows = orThrow(database.read((prepare) => prepare<Row>(sql).all(...categories, position, last)))
    const { events, failure } = decoded(rows)
    if (failure !== undefined && events.length === 0) throw new UndecodableEvent(failure)
    const isWhole = failure === undefined && events.length < pageSize
    return { events, position: isWhole ? last : (events.at(-1)?.position ?? last) }
  }

  async function* history(after: Position, categories: ReadonlyArray<Category>): AsyncGenerator<EventBatch> {
    const end = orThrow(head())
    let position = after
    while (position < end) {
      const batch = page(position, end, categories)
      position = batch.position
      yield batch
      // Reads are synchronous: between two of them the others have their turn.
      await new Promise(setImmediate)
    }
  }

  const subscribe: EventStore['subscribe'] = (after, categories, signal) =>
    liveSubscription(recent, history, after, categories, signal)

  return { read, append, subscribe, history, head: () => Promise.resolve(head()) }
}

const rowOf = (event: NewEvent): EventRow => [
  event.id,
  event.type,
  event.time,
  event.correlationId,
  event.causationId,
  event.schemaVersion,
  event.actor,
  JSON.stringify(event.data),
]

/** Up to the first one that can't be decoded. */
const decoded = (
  rows: ReadonlyArray<Row>,
): { readonly events: ReadonlyArray<Recorded<DomainEvent>>; readonly failure?: StoreFailure } => {
  const events: Array<Recorded<DomainEvent>> = []
  for (const row of rows) {
    const event = eventOf(row)
    if (E.isLeft(event)) return { events, failure: event.left }
    events.push(event.right)
  }
  return { events }
}

const eventOf = (row: Row): Either<StoreFailure, Recorded<DomainEvent>> => {
  const data = parsed(row.data)
  if (E.isLeft(data)) return data
  const event = decodeStoredEvent(row.type, row.schema_version, data.right)
  if (E.isLeft(event)) return event
  const envelope = {
    ...event.right,
    id: row.id,
    time: row.time as Instant,
    correlationId: row.correlation_id,
    causationId: row.causation_id,
    schemaVersion: row.schema_version,
    actor: row.actor,
  }
  return E.right(recordedAs(envelope, row.stream, row.revision, row.position))
}

const parsed = (json: string): Either<StoreFailure, unknown> => {
  try {
    return E.right(JSON.parse(json))
  } catch {
    return E.left({ kind: 'corrupt', reason: 'an event holds no JSON' })
  }
}

/** Written out field by field: this runs for every event that is written or read, and spreading costs twice as much. */
const recordedAs = (event: NewEvent, stream: string, revision: number, position: number): Recorded<DomainEvent> =>
  ({
    type: event.type,
    data: event.data,
    id: event.id,
    time: event.time,
    correlationId: event.correlationId,
    causationId: event.causationId,
    schemaVersion: event.schemaVersion,
    actor: event.actor,
    stream,
    revision,
    position: BigInt(position),
  }) as Recorded<DomainEvent>
