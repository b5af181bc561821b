import { jsonEvent, type EventData, type ResolvedEvent } from '@eventstore/db-client'
import type { RecordedEvent } from '../../domain/events.js'
import { beginning, positionOf, type Position } from '../../domain/event.js'
import type { Instant } from '../../domain/instant.js'
import type { NewEvent } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import type { LogEntry, Truncation } from '../in-process/log-tail.js'

/**
 * The first two names are those by which EventStoreDB's own tools and projections find related events; the rest is
 * ours.
 */
type Metadata = {
  readonly $correlationId: string
  readonly $causationId: string
  readonly time: Instant
  readonly actor: string
  readonly schema_version: number
}

/** Where the server says that something stands; `beginning` where it says nothing, or names what is no position. */
export const positionFrom = (named: { readonly commit: bigint } | undefined): Position =>
  named === undefined ? beginning : positionOf(named.commit)

/** Of the streams that say how far followers of the log have come. */
export const checkpointCategory = 'checkpoint'

/** The metadata of a stream stands in a stream of its own. */
export const metadataPrefix = '$$'

/** Undefined for an event that truncates no stream. */
export const decodeTruncation = ({ event }: ResolvedEvent): Truncation | undefined => {
  if (event?.type !== '$metadata' || !event.streamId.startsWith(metadataPrefix)) return undefined
  const { $tb } = event.data as { readonly $tb?: number }
  return $tb === undefined ? undefined : { stream: event.streamId.slice(metadataPrefix.length), before: $tb }
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/**
 * Whether an event may be sent. To an append with an id that is no UUID or with an empty type the server answers twice,
 * and the second answer ends the driver: it throws where nobody can catch it, and all later appends of that client
 * hang.
 */
export const isEncodable = ({ id, type }: NewEvent): boolean => uuid.test(id) && type.length > 0

/** Data and metadata become JSON, which the server's own tools and projections can read. */
export const encodeEvent = ({ id, type, data, ...envelope }: NewEvent): EventData => {
  const metadata: Metadata = {
    $correlationId: envelope.correlationId,
    $causationId: envelope.causationId,
    time: envelope.time,
    actor: envelope.actor,
    schema_version: envelope.schemaVersion,
  }
  return jsonEvent({ id, type, data: data, metadata })
}

/** Undefined for an event that Leadloop did not write: other applications may have streams with the same prefixes. */
export const decodeEvent = ({ event }: ResolvedEvent): LogEntry | undefined => {
  const metadata = event?.metadata as Partial<Metadata> | undefined
  if (event === undefined || !event.isJson || metadata?.schema_version === undefined) return undefined
  const stream = event.streamId
  const revision = Number(event.revision)
  const position = positionFrom(event.position)
  const decoded = decodeStoredEvent(event.type, metadata.schema_version, event.data)
  if (E.isLeft(decoded)) return { stream, revision, position, id: event.id, type: event.type, failure: decoded.left }
  return {
    ...decoded.right,
    id: event.id,
    time: metadata.time,
    correlationId: metadata.$correlationId,
    causationId: metadata.$causationId,
    schemaVersion: metadata.schema_version,
    actor: metadata.actor,
    stream,
    revision,
    position,
  } as RecordedEvent
}
