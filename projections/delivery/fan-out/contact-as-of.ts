import { contact } from '../../../domain/contact.js'
import type { Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { ContactId } from '../../../domain/ids.js'
import type { EventStore, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { streamOf } from '../../../domain/stream-name.js'
import { contactFrom, evolveContact, type ContactDocument } from '../../from-streams/contact.js'
import type { Documents, Stored } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { contacts } from '../../read-models/contacts.js'

export type ContactPorts = {
  readonly store: Pick<EventStore, 'read' | 'readLast'>
  readonly documents: Pick<Documents, 'checkpoint' | 'get'>
}

/** A contact of the read model, and the position up to which it reflects its stream. */
type Shown = { readonly document: ContactDocument; readonly changedAt: Position; readonly upTo: Position }

/**
 * A stream with fewer events is read at once; of a longer one so many of the newest, and more only where these do not
 * tell.
 */
const recentEvents = 100

/**
 * The contact with the events before `position`; undefined where it had none. A long stream is not read whole: what the
 * read model shows is brought to the position by the newest events.
 */
export const contactAsOf = async (
  { store, documents }: ContactPorts,
  id: ContactId,
  position: Position,
): Promise<Either<StoreFailure, ContactDocument | undefined>> => {
  const stream = streamOf(contact, id)
  const read = await store.readLast(stream, recentEvents)
  if (E.isLeft(read)) return read
  let recent: ReadonlyArray<RecordedEvent> = read.right
  const shown = (recent[0]?.revision ?? 0) === 0 ? undefined : await inReadModel(documents, id)
  if (shown !== undefined) {
    // What came meanwhile may be shown already.
    const since = await store.read(stream, (recent.at(-1)?.revision ?? 0) + 1)
    if (E.isLeft(since)) return since
    recent = [...recent, ...since.right.events]
  }
  let isWhole = false
  for (let wanted = 2 * recentEvents; ; wanted *= 2) {
    const first = recent[0]?.revision ?? 0
    // Of a contact that was erased nothing may be left but that, and the read model may still show it.
    const erased = recent.find(({ type }) => type === 'ContactErased')
    if (erased !== undefined && (erased === recent[0] || erased.position < position)) return E.right(undefined)
    if (isWhole && first > 0) return E.left(headless)
    if (first === 0) return E.right(contactFrom(recent.filter((event) => event.position < position)))
    const found = shown && broughtTo(position, shown, recent)
    if (found !== undefined) return E.right(found)
    const from = shown === undefined ? 0 : Math.max(first + recent.length - wanted, 0)
    const more = await store.read(stream, from)
    if (E.isLeft(more)) return more
    recent = more.right.events
    isWhole = from === 0
  }
}

const headless: StoreFailure = { kind: 'corrupt', reason: 'a contact has lost its first events' }

/** Undefined where the read model does not show it: then its stream tells. */
const inReadModel = async (
  { checkpoint, get }: ContactPorts['documents'],
  id: ContactId,
): Promise<Shown | undefined> => {
  const collection = collectionOf(contacts)
  // In this order: up to the checkpoint nothing is lacking.
  const handled = await checkpoint(collection)
  const found = await get(collection, [id])
  if (E.isLeft(handled) || E.isLeft(found)) return undefined
  const { document, position: changedAt }: Partial<Stored> = found.right.get(id) ?? {}
  if (document === undefined || changedAt === undefined) return undefined
  const upTo = handled.right > changedAt ? handled.right : changedAt
  // A collection holds what its own projection made.
  return { document: document as ContactDocument, changedAt, upTo }
}

/** Undefined where the recent events do not reach back far enough. */
const broughtTo = (
  position: Position,
  { document, changedAt, upTo }: Shown,
  recent: ReadonlyArray<RecordedEvent>,
): ContactDocument | undefined => {
  const before = recent.filter((event) => event.position < position)
  if (changedAt < position) {
    const reachesBack = upTo >= position || (recent[0] !== undefined && recent[0].position <= upTo)
    return reachesBack ? before.filter((event) => event.position > upTo).reduce(evolved, document) : undefined
  }
  // The contact changed after that position. Its details then are those of the last change before it, and it had opted
  // out where it had said so last.
  const tellsDetails = before.some(({ type }) => type === 'ContactDetailsChanged')
  const tellsOptOut = before.some(saysOptOut) || !recent.some(saysOptOut)
  return tellsDetails && tellsOptOut ? before.reduce(evolved, document) : undefined
}

const saysOptOut = ({ type }: RecordedEvent): boolean => type === 'ContactOptedOut' || type === 'ContactOptedIn'

/** There is a contact after every event but those before its stream began, and these are not asked for. */
const evolved = (document: ContactDocument, event: RecordedEvent): ContactDocument =>
  evolveContact(document, event) ?? document
