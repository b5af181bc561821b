import type { Category, EventType, RecordedEvent } from '../domain/events.js'
import { reasonOf, StatedFailure } from '../domain/failure-reason.js'
import type { StoreFailure } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import { orThrow } from '../domain/store-failed.js'
import type { Change, Collection, Indexes, Json, Stored } from './ports.js'

/**
 * A read model as data. `keyOf` names the document that an event concerns (undefined: none), `evolve` folds the event
 * into it. Both are pure; a change of what they make is a new `version`, which is built anew beside the old one.
 */
export type Projection<Document extends Json> = {
  readonly name: string
  readonly version: number
  readonly categories: ReadonlyArray<Category>
  readonly indexes: Indexes
  /** Fields of the document that hold fields whose names vendors or customers chose. */
  readonly namedByOthers?: ReadonlyArray<string>
  /** Event types that create a document: no older one exists, so none is read. */
  readonly createdBy: ReadonlySet<EventType>
  readonly keyOf: (event: RecordedEvent) => string | undefined
  readonly evolve: (document: Document | undefined, event: RecordedEvent) => Document | undefined
}

/** A projection whose documents are handled as plain JSON: what runs projections needs no more. */
export type AnyProjection = Projection<Json>

/** Forgets the type of the documents: what a projection is given was made by its own `evolve`. */
export const anyProjection = <Document extends Json>(projection: Projection<Document>): AnyProjection =>
  projection as unknown as AnyProjection

export const collectionOf = (
  { name, version, indexes, namedByOthers = [] }: Pick<AnyProjection, 'name' | 'version' | 'indexes' | 'namedByOthers'>,
  generation: Collection['generation'] = 'live',
): Collection => ({ name, version, indexes, generation, namedByOthers })

/** Stops a follower for good, visibly, and no other. */
export class CannotFollow extends StatedFailure {}

/** An event that a projection can't fold: its position and type, and nothing of what it holds. */
export class Unprojectable extends CannotFollow {
  constructor(projection: AnyProjection, event: RecordedEvent, cause: unknown) {
    super(`${projection.name} can't fold ${event.type} at position ${event.position}: ${reasonOf(cause)}`)
  }
}

/**
 * What writing a read model came to. Where a store can't hold a document, trying again would not change it.
 * @throws CannotFollow, and StoreFailed
 */
export const writtenOrThrow = ({ name }: AnyProjection, written: Either<StoreFailure, void>): void => {
  if (E.isLeft(written) && written.left.kind === 'corrupt')
    throw new CannotFollow(`${name} can't be written: ${written.left.reason}`)
  orThrow(written)
}

/** The keys of the documents that must be read before `events` can be folded. */
export const keysToRead = (projection: AnyProjection, events: ReadonlyArray<RecordedEvent>): ReadonlyArray<string> => {
  const begun = new Set<string>()
  const keys = new Set<string>()
  for (const event of events) {
    const key = projection.keyOf(event)
    if (key === undefined || begun.has(key)) continue
    if (projection.createdBy.has(event.type) && !keys.has(key)) begun.add(key)
    else keys.add(key)
  }
  return [...keys]
}

/**
 * What a batch of events, in the order of the log, changes: one change a document. An event that a document reflects
 * already changes nothing.
 * @throws Unprojectable
 */
export const changesOf = (
  projection: AnyProjection,
  stored: ReadonlyMap<string, Stored>,
  events: ReadonlyArray<RecordedEvent>,
): ReadonlyArray<Change> => {
  const changes = new Map<string, Change>()
  for (const event of events) {
    const key = projection.keyOf(event)
    if (key === undefined) continue
    const before = changes.get(key) ?? stored.get(key)
    // A store that writes documents before the checkpoint may hold what is folded here once more after a crash.
    if (before !== undefined && before.position >= event.position) continue
    changes.set(key, { key, document: evolved(projection, before?.document, event), position: event.position })
  }
  return [...changes.values()]
}

const evolved = (projection: AnyProjection, document: Json | undefined, event: RecordedEvent): Json | undefined => {
  try {
    return projection.evolve(document, event)
  } catch (cause) {
    throw new Unprojectable(projection, event, cause)
  }
}
