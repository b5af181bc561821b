import { LRUCache } from 'lru-cache'
import { approximateBytes } from '../../../domain/approximate-size.js'
import { contact } from '../../../domain/contact.js'
import type { Position } from '../../../domain/event.js'
import type { EventOf, RecordedEvent } from '../../../domain/events.js'
import type { ContactId } from '../../../domain/ids.js'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { orThrow } from '../../../domain/store-failed.js'
import { idIn } from '../../../domain/stream-name.js'
import { contactOf, evolveContact, type Contact, type ContactDocument } from '../../from-streams/contact.js'
import { contactAsOf, type ContactPorts } from './contact-as-of.js'

export type RecordedActivity = EventOf<'ActivityRecorded'>

/** A contact that reflects all events of its stream up to a position, and none after it; or why it can't be told. */
type FollowedContact = {
  readonly document: Either<StoreFailure, ContactDocument | undefined>
  readonly position: Position
}

/** As it was when an activity happened; undefined where its stream was deleted since. */
type Shown = Either<StoreFailure, Contact | undefined>

/** In bytes, about. */
const capacity = 16_000_000

/** Contacts that are read at the same time. */
const readsAtOnce = 16

/**
 * The contacts as they were where the log was followed to. They are folded as their events come; one that has not come
 * yet is read once, however many activities follow.
 */
export const followedContacts = (ports: ContactPorts) => {
  const cache = new LRUCache<ContactId, FollowedContact>({ maxSize: capacity, sizeCalculation: approximateBytes })

  /** @throws StoreFailed where it may be read later */
  const readAsOf = async (id: ContactId, position: Position): Promise<FollowedContact> => {
    const document = await contactAsOf(ports, id, position)
    if (E.isLeft(document) && document.left.kind !== 'corrupt') orThrow(document)
    return { document, position }
  }

  /** Those that must be read before the events can be folded, and as of which position. */
  const missingFor = (
    events: ReadonlyArray<RecordedEvent>,
    activities: ReadonlySet<RecordedActivity>,
  ): ReadonlyMap<ContactId, Position> => {
    const created = new Set<ContactId>()
    const missing = new Map<ContactId, Position>()
    for (const event of events) {
      if (event.type === 'ContactCreated') created.add(event.data.contact_id)
      if (event.type !== 'ActivityRecorded' || !activities.has(event)) continue
      const id = event.data.activity.contact_id
      if (!cache.has(id) && !created.has(id) && !missing.has(id)) missing.set(id, event.position)
    }
    return missing
  }

  return {
    /**
     * Folds the next events of the log. Gives for each of these activities the contact as it was then. What can't be
     * read concerns its own activities alone, and is read again for the next ones.
     */
    fold: async (
      events: ReadonlyArray<RecordedEvent>,
      activities: ReadonlySet<RecordedActivity>,
    ): Promise<ReadonlyMap<RecordedActivity, Shown>> => {
      const current = new Map<ContactId, FollowedContact>()
      const missing = [...missingFor(events, activities)]
      for (let next = missing.splice(0, readsAtOnce); next.length > 0; next = missing.splice(0, readsAtOnce)) {
        await Promise.all(next.map(async ([id, position]) => current.set(id, await readAsOf(id, position))))
      }
      const shown = new Map<RecordedActivity, Shown>()
      for (const event of events) {
        const id = idIn(contact, event.stream) as ContactId | undefined
        if (id !== undefined) {
          const before = current.get(id) ?? cache.get(id)
          const isNext = before === undefined ? event.type === 'ContactCreated' : event.position > before.position
          if (isNext) current.set(id, evolved(before, event))
        } else if (event.type === 'ActivityRecorded' && activities.has(event)) {
          const { contact_id } = event.data.activity
          const followed = current.get(contact_id) ?? cache.get(contact_id)
          if (followed !== undefined) shown.set(event, shownOf(followed))
        }
      }
      for (const [id, followed] of current) {
        if (E.isRight(followed.document)) cache.set(id, followed)
        else cache.delete(id)
      }
      return shown
    },
    /** As it was when an activity happened that the log was followed beyond. */
    asOf: async ({ data: { activity }, position }: RecordedActivity): Promise<Shown> =>
      shownOf(await readAsOf(activity.contact_id, position)),
    /** The stream holds an event that can't be decoded: whoever needs the contact next reads it, and is told so. */
    skip: (stream: string): void => {
      const id = idIn(contact, stream) as ContactId | undefined
      if (id !== undefined) cache.delete(id)
    },
    /** Another stretch of the log begins. */
    forget: () => cache.clear(),
  }
}

const evolved = (before: FollowedContact | undefined, event: RecordedEvent): FollowedContact => {
  const document = before?.document ?? E.right(undefined)
  return {
    document: E.isLeft(document) ? document : E.right(evolveContact(document.right, event)),
    position: event.position,
  }
}

const shownOf = ({ document }: FollowedContact): Shown => {
  if (E.isLeft(document)) return document
  return E.right(document.right === undefined ? undefined : contactOf(document.right))
}
