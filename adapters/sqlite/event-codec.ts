import type { DomainEvent } from '../../domain/events.js'
import { positionOf, type Recorded } from '../../domain/event.js'
import type { Instant } from '../../domain/instant.js'
import type { NewEvent, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { UndecodableEntry } from '../../domain/store-failed.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import type { EventRow } from './writer/writer-protocol.js'

/** An event as it is read from the table `events`, with `eventColumns`. */
export type StoredEventRow = {
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

export const eventColumns =
  'position, stream, revision, id, type, time, correlation_id, causation_id, schema_version, actor, data'

export const encodeEvent = (event: NewEvent): EventRow => [
  event.id,
  event.type,
  event.time,
  event.correlationId,
  event.causationId,
  event.schemaVersion,
  event.actor,
  JSON.stringify(event.data),
]

/** The events up to the first one that can't be decoded, and that one. */
export const decodeEvents = (
  rows: ReadonlyArray<StoredEventRow>,
): { readonly events: ReadonlyArray<Recorded<DomainEvent>>; readonly undecodable?: UndecodableEntry } => {
  const events: Array<Recorded<DomainEvent>> = []
  for (const row of rows) {
    const event = decodeEvent(row)
    if (E.isLeft(event)) {
      const { stream, revision, id, type } = row
      const position = positionOf(BigInt(row.position))
      return { events, undecodable: { stream, revision, position, id, type, failure: event.left } }
    }
    events.push(event.right)
  }
  return { events }
}

/** Written out field by field, as in `decodeEvent`: this runs for every event that is written or read, and spreading costs twice as much. */
export const recordedAs = (
  event: NewEvent,
  stream: string,
  revision: number,
  position: number,
): Recorded<DomainEvent> =>
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
    position: positionOf(BigInt(position)),
  }) as Recorded<DomainEvent>

const decodeEvent = (row: StoredEventRow): Either<StoreFailure, Recorded<DomainEvent>> => {
  const data = parsed(row.data)
  if (E.isLeft(data)) return data
  const event = decodeStoredEvent(row.type, row.schema_version, data.right)
  if (E.isLeft(event)) return event
  return E.right({
    type: event.right.type,
    data: event.right.data,
    id: row.id,
    time: row.time as Instant,
    correlationId: row.correlation_id,
    causationId: row.causation_id,
    schemaVersion: row.schema_version,
    actor: row.actor,
    stream: row.stream,
    revision: row.revision,
    position: positionOf(BigInt(row.position)),
  } as Recorded<DomainEvent>)
}

const parsed = (json: string): Either<StoreFailure, unknown> => {
  try {
    return E.right(JSON.parse(json))
  } catch {
    return E.left({ kind: 'corrupt', reason: 'an event holds no JSON' })
  }
}
