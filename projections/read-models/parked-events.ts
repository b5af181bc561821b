import type { ParkedEventId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { parkedEvent } from '../../domain/parked-event.js'
import { idIn } from '../../domain/stream-name.js'
import type { Projection } from '../projection.js'

/** An event that waits for an operator; once it was handled there is no document of it. */
type ParkedEventDocument = {
  readonly id: ParkedEventId
  readonly process_manager: string
  readonly event_id: string
  readonly event_type: string
  /** Why it could not be handled, and when that was: the last time it was tried. */
  readonly reason: string
  readonly at: Instant
  readonly created_at: Instant
}

export const parkedEvents: Projection<ParkedEventDocument> = {
  name: 'parked_events',
  version: 1,
  categories: ['parked'],
  indexes: { in_order: ['created_at'], by_process_manager: ['process_manager', 'created_at'] },
  createdBy: new Set(['EventParked']),
  keyOf: (event) => idIn(parkedEvent, event.stream),
  evolve: (document, event) => {
    if (event.type === 'EventParked') {
      const { parked_event_id: id, event_stream: _stream, event_revision: _revision, ...facts } = event.data
      return { id, ...facts, at: event.time, created_at: event.time }
    }
    if (document === undefined) return undefined
    switch (event.type) {
      case 'ParkedEventRetryFailed':
        return { ...document, reason: event.data.reason, at: event.time }
      case 'ParkedEventHandled':
        return undefined
      default:
        return document
    }
  },
}
