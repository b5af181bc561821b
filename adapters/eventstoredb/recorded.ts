import { jsonEvent, type EventData, type ResolvedEvent } from '@eventstore/db-client'
import { categories, type DomainEvent } from '../../domain/events.js'
import type { Recorded } from '../../domain/event.js'
import type { Instant } from '../../domain/instant.js'
import type { NewEvent } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import type { LogEntry } from '../in-process/log-tail.js'

/** The names of EventStoreDB's own tools, then ours. */
type Metadata = {
  readonly $correlationId: string
  readonly $causationId: string
  readonly time: Instant
  readonly actor: string
  readonly schema_version: number
}

/** JSON that the server's own tools and projections can read. */
export const eventDataOf = ({ id, type, data, ...envelope }: NewEvent): EventData => {
  const metadata: Metadata = {
    $correlationId: envelope.correlationId,
    $causationId: envelope.causationId,
    time: envelope.time,
    actor: envelope.actor,
    schema_version: envelope.schemaVersion,
  }
  return jsonEvent({ id, type, data: data, metadata })
}

/** Undefined for an event that this adapter did not write: other applications may have streams with our prefixes. */
export const recordedOf = ({ event }: ResolvedEvent): LogEntry | undefined => {
  const metadata = event?.metadata as Partial<Metadata> | undefined
  if (event === undefined || !event.isJson || metadata?.schema_version === undefined) return undefined
  const stream = event.streamId
  const position = event.position?.commit ?? 0n
  const decoded = decodeStoredEvent(event.type, metadata.schema_version, event.data)
  if (E.isLeft(decoded)) return { stream, position, failure: decoded.left }
  return {
    ...decoded.right,
    id: event.id,
    time: metadata.time,
    correlationId: metadata.$correlationId,
    causationId: metadata.$causationId,
    schemaVersion: metadata.schema_version,
    actor: metadata.actor,
    stream,
    revision: Number(event.revision),
    position,
  } as Recorded<DomainEvent>
}

export const prefixesOf = (wanted: ReadonlyArray<string> = categories): Array<string> =>
  wanted.map((category) => `${category}-`)
