import type { RecordedEvent } from '../../domain/events.js'
import { positionOf } from '../../domain/event.js'
import type { Instant } from '../../domain/instant.js'
import type { NewEvent, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { UndecodableEntry } from '../../domain/store-failed.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import type { EventRow } from './writer/writer-protocol.js'

/**
 * An event as it is read from the table `events`, with `eventColumns`: where it stands, and as it was written. A list,
 * since the driver takes half as long again to make an object.
 */
export type StoredEventRow = readonly [stream: string, revision: number, position: number, ...EventRow]

export const eventColumns =
  'stream, revision, position, id, type, time, correlation_id, causation_id, schema_version, actor, data'

/** Its data, as JSON. */
export const dataOf = (row: StoredEventRow): string => row[10]

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
): { readonly events: ReadonlyArray<RecordedEvent>; readonly undecodable?: UndecodableEntry } => {
  const events: Array<RecordedEvent> = []
  for (const row of rows) {
    const event = decodeEvent(row)
    if (E.isLeft(event)) {
      const [stream, revision, position, id, type] = row
      const undecodable = { stream, revision, position: positionOf(BigInt(position)), id, type, failure: event.left }
      return { events, undecodable }
    }
    events.push(event.right)
  }
  return { events }
}

/** Written out field by field, as `recordedAs` is. */
const decodeEvent = ([
  stream,
  revision,
  position,
  id,
  type,
  time,
  correlationId,
  causationId,
  schemaVersion,
  actor,
  json,
]: StoredEventRow): Either<StoreFailure, RecordedEvent> => {
  const data = parsed(json)
  if (E.isLeft(data)) return data
  const event = decodeStoredEvent(type, schemaVersion, data.right)
  if (E.isLeft(event)) return event
  return E.right({
    type: event.right.type,
    data: event.right.data,
    id,
    time: time as Instant,
    correlationId,
    causationId,
    schemaVersion,
    actor,
    stream,
    revision,
    position: positionOf(BigInt(position)),
  } as RecordedEvent)
}

const parsed = (json: string): Either<StoreFailure, unknown> => {
  try {
    return E.right(JSON.parse(json))
  } catch {
    return E.left({ kind: 'corrupt', reason: 'an event holds no JSON' })
  }
}
