import { contact } from '../domain/contact.js'
import type { AccountId, ContactId } from '../domain/ids.js'
import type { EventStore, StoreFailure } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import { streamOf } from '../domain/stream-name.js'
import { contactFrom, contactOf, type Contact, type ContactDocument } from './from-streams/contact.js'
import { contacts } from './read-models/contacts.js'
import { messages, usageIn, type Usage } from './read-models/messages.js'
import { pageResultsOf } from './pages.js'
import {
  mostCounted,
  type Collection,
  type Documents,
  type Entry,
  type IndexPart,
  type IndexValue,
  type Json,
  type Query,
} from './ports.js'
import { collectionOf, type Projection } from './projection.js'

/** Reads for the surfaces. */
export type Queries = {
  /**
   * A contact of this account; a miss in the read model is confirmed against the stream, so that a 404 is never stale.
   * A contact that it does not show is `unavailable` where its stream is long.
   */
  readonly contactById: (account: AccountId, id: ContactId) => Promise<Either<StoreFailure, Contact | undefined>>
  /** A page of a read model. */
  readonly page: <Document extends Json>(
    projection: Projection<Document>,
    query: Query,
  ) => Promise<Either<StoreFailure, ReadonlyArray<{ readonly key: string; readonly document: Document }>>>
  readonly byKey: <Document extends Json>(
    projection: Projection<Document>,
    key: string,
  ) => Promise<Either<StoreFailure, Document | undefined>>
  /** Those of the keys that have a document. */
  readonly byKeys: <Document extends Json>(
    projection: Projection<Document>,
    keys: ReadonlyArray<string>,
  ) => Promise<Either<StoreFailure, ReadonlyArray<Document>>>
  /** The different values of the first field of an index. */
  readonly values: <Document extends Json>(
    projection: Projection<Document>,
    index: string,
  ) => Promise<Either<StoreFailure, ReadonlyArray<IndexValue>>>
  /** How many documents stand in a part of an index; `mostCounted` where there are as many or more. */
  readonly count: <Document extends Json>(
    projection: Projection<Document>,
    part: IndexPart,
  ) => Promise<Either<StoreFailure, number>>
  /** What an account has sent in a month, such as 2026-01. */
  readonly usage: (account: AccountId, month: string) => Promise<Either<StoreFailure, Usage>>
  /** All documents that match, in the order of the index. */
  readonly list: <Document extends Json>(
    projection: Projection<Document>,
    index: string,
    equals: Query['equals'],
  ) => Promise<Either<StoreFailure, ReadonlyArray<Document>>>
}

/** Whether a lead that was accepted may still lack what follows from it, because a store failed in between. */
export type HasPendingReactions = () => Promise<boolean>

/** The answer instead of 'not found' while an accepted lead may still create the contact. */
export const contactPending: StoreFailure = {
  kind: 'unavailable',
  reason: 'an accepted lead may still lack its contact',
}

/**
 * Events of a contact that the read model does not show yet are read to this number: one that is new has few. Of a
 * longer stream each request would cost what the stream does.
 */
const mostConfirmed = 1_000

const contactLate: StoreFailure = { kind: 'unavailable', reason: 'the read model does not show the contact yet' }

const pageSize = 500

type QueryPorts = {
  readonly store: EventStore
  readonly documents: Documents
  /** Whether a lead that was accepted may still lack its contact. */
  readonly hasPendingReactions: HasPendingReactions
}

export const queries = ({ store, documents, hasPendingReactions }: QueryPorts): Queries => {
  const contactsNow = collectionOf(contacts)

  const contactById: Queries['contactById'] = async (account, id) => {
    const found = await documents.get(contactsNow, [id])
    if (E.isLeft(found)) return found
    const document = found.right.get(id)?.document as ContactDocument | undefined
    if (document !== undefined) return E.right(document.account_id === account ? contactOf(document) : undefined)
    // One more than that tells whether the stream is longer.
    const read = await store.read(streamOf(contact, id), 0, mostConfirmed + 1)
    if (E.isLeft(read)) return read
    if (read.right.revision === 'no-stream' && (await hasPendingReactions())) {
      return E.left(contactPending)
    }
    const folded = contactFrom(read.right.events)
    if (folded?.account_id !== account) return E.right(undefined)
    return read.right.events.length <= mostConfirmed ? E.right(contactOf(folded)) : E.left(contactLate)
  }

  const find = findThere(documents)

  const page: Queries['page'] = async <Document extends Json>(projection: Projection<Document>, query: Query) => {
    // A collection holds what its own projection made.
    type Page = ReadonlyArray<Entry & { readonly document: Document }>
    return (await find(collectionOf(projection), query)) as Either<StoreFailure, Page>
  }

  const list: Queries['list'] = async <Document extends Json>(
    projection: Projection<Document>,
    index: string,
    equals: Query['equals'],
  ) => {
    const all: Array<Json> = []
    for await (const found of pageResultsOf({ find }, collectionOf(projection), { index, equals, limit: pageSize })) {
      if (E.isLeft(found)) return found
      all.push(...found.right.map(({ document }) => document))
    }
    // A collection holds what its own projection made.
    return E.right(all as unknown as ReadonlyArray<Document>)
  }

  const byKeys: Queries['byKeys'] = async <Document extends Json>(
    projection: Projection<Document>,
    keys: ReadonlyArray<string>,
  ) => {
    const collection = collectionOf(projection)
    const got = await documents.get(collection, keys)
    const found = await unlessMissing(documents, collection, got, ({ size }) => size)
    if (E.isLeft(found)) return found
    const there = [...found.right.values()].flatMap(({ document }) => document ?? [])
    // A collection holds what its own projection made.
    return E.right(there as unknown as ReadonlyArray<Document>)
  }

  const byKey: Queries['byKey'] = async (projection, key) => {
    const found = await byKeys(projection, [key])
    return E.isLeft(found) ? found : E.right(found.right[0])
  }

  const values: Queries['values'] = async (projection, index) => {
    const collection = collectionOf(projection)
    const found = await documents.values(collection, index)
    return unlessMissing(documents, collection, found, ({ length }) => length)
  }

  const count: Queries['count'] = async (projection, part) => {
    const collection = collectionOf(projection)
    const counted = await documents.count(collection, { ...part, limit: mostCounted })
    return unlessMissing(documents, collection, counted, (number) => number)
  }

  const usage: Queries['usage'] = async (account, month) =>
    unlessMissing(documents, collectionOf(messages), await usageIn(documents, account, month), (used) => used.messages)

  return { contactById, page, list, byKeys, byKey, values, count, usage }
}

/**
 * `unavailable` where the collection is not there: whoever acts on all that is found must not take it for an empty one.
 */
export const findThere =
  (documents: Pick<Documents, 'find' | 'exists'>): Documents['find'] =>
  async (collection, query) =>
    unlessMissing(documents, collection, await documents.find(collection, query), ({ length }) => length)

/**
 * Where nothing is found the collection itself may be missing: it is being built, or a newer version of the read model
 * replaced it. `size`: of what was found.
 */
const unlessMissing = async <Found>(
  { exists }: Pick<Documents, 'exists'>,
  collection: Collection,
  found: Either<StoreFailure, Found>,
  size: (found: Found) => number,
): Promise<Either<StoreFailure, Found>> => {
  if (E.isLeft(found) || size(found.right) > 0) return found
  const isThere = await exists(collection)
  if (E.isLeft(isThere)) return isThere
  if (isThere.right) return found
  const reason = `${collection.name} is being built, or was replaced by another version`
  return E.left({ kind: 'unavailable', reason })
}
