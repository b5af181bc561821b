import type { RecordedEvent } from '../../../domain/events.js'
import type { Change, Json } from '../../../projections/ports.js'
import { changesOf, keysToRead, type AnyProjection } from '../../../projections/projection.js'

/** What a store holds of a read model: the last change under each key. */
export type Held = ReadonlyMap<string, Change>

export const documentsIn = (held: Held): ReadonlyMap<string, Json> => {
  const documents = new Map<string, Json>()
  for (const { key, document } of held.values()) if (document !== undefined) documents.set(key, document)
  return documents
}

/**
 * Folds a batch in as a runner does: only the documents of `keysToRead` are at hand, and a change that is not newer is
 * passed over (`Change` of projections/ports.ts).
 */
export const applied = (projection: AnyProjection, held: Held, events: ReadonlyArray<RecordedEvent>): Held => {
  const read = new Set(keysToRead(projection, events))
  const known = new Map([...held].filter(([key]) => read.has(key)))
  const next = new Map(held)
  for (const change of changesOf(projection, known, events)) {
    const before = next.get(change.key)
    if (before === undefined || change.position > before.position) next.set(change.key, change)
  }
  return next
}

/** The documents that a whole log leaves, by key. */
export const project = (
  projection: AnyProjection,
  events: ReadonlyArray<RecordedEvent>,
): Readonly<Record<string, Json>> => Object.fromEntries(documentsIn(applied(projection, new Map(), events)))
