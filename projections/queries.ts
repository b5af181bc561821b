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

/** In milliseconds: whoever watches over the process is answered within it, whatever the read models do. */
export const longestLook = 1_000

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

  const missingIn = missingAmong(documents)

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

  const byKey: Queries['byKey'] = async <Document extends Json>(projection: Projection<Document>, key: string) => {
    const collection = collectionOf(projection)
    const found = await documents.get(collection, [key])
    if (E.isLeft(found)) return found
    const missing = found.right.size > 0 ? undefined : await missingIn(collection)
    // A collection holds what its own projection made.
    return missing === undefined ? E.right(found.right.get(key)?.document as Document | undefined) : E.left(missing)
  }

  const count: Queries['count'] = async (projection, part) => {
    const collection = collectionOf(projection)
    const counted = await documents.count(collection, { ...part, limit: mostCounted })
    if (E.isLeft(counted)) return counted
    const missing = counted.right > 0 ? undefined : await missingIn(collection)
    return missing === undefined ? counted : E.left(missing)
  }

  const usage: Queries['usage'] = async (account, month) => {
    const used = await usageIn(documents, account, month)
    if (E.isLeft(used)) return used
    const missing = used.right.messages > 0 ? undefined : await missingIn(collectionOf(messages))
    return missing === undefined ? used : E.left(missing)
  }

  return { contactById, page, byKey, count, usage, list, ...manyAtOnce(documents) }
}

/**
 * `unavailable` where the collection is not there: whoever acts on all that is found must not take it for an empty one.
 */
export const findThere =
  (documents: Pick<Documents, 'find' | 'exists'>): Documents['find'] =>
  async (collection, query) => {
    const found = await documents.find(collection, query)
    if (E.isLeft(found) || found.right.length > 0) return found
    const missing = await missingAmong(documents)(collection)
    return missing === undefined ? found : E.left(missing)
  }

/**
 * Where nothing is found the collection itself may be missing: it is being built, or a newer version of the read model
 * replaced it.
 */
const missingAmong =
  (documents: Pick<Documents, 'exists'>) =>
  async (collection: Collection): Promise<StoreFailure | undefined> => {
    const isThere = await documents.exists(collection)
    if (E.isLeft(isThere)) return isThere.left
    if (isThere.right) return undefined
    return { kind: 'unavailable', reason: `${collection.name} is being built, or was replaced by another version` }
  }

const manyAtOnce = (documents: Documents): Pick<Queries, 'byKeys' | 'values'> => {
  const missingIn = missingAmong(documents)

  const byKeys: Queries['byKeys'] = async <Document extends Json>(
    projection: Projection<Document>,
    keys: ReadonlyArray<string>,
  ) => {
    const collection = collectionOf(projection)
    const found = await documents.get(collection, keys)
    if (E.isLeft(found)) return found
    const missing = found.right.size > 0 ? undefined : await missingIn(collection)
    const there = [...found.right.values()].flatMap(({ document }) => document ?? [])
    return missing === undefined ? E.right(there as unknown as ReadonlyArray<Document>) : E.left(missing)
  }

  const values: Queries['values'] = async (projection, index) => {
    const collection = collectionOf(projection)
    const found = await documents.values(collection, index)
    if (E.isLeft(found)) return found
    const missing = found.right.length > 0 ? undefined : await missingIn(collection)
    return missing === undefined ? found : E.left(missing)
  }

  return { byKeys, values }
}
