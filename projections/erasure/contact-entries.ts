import type { ContactId } from '../../domain/ids.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Cursor, Documents, Json } from '../ports.js'
import { collectionOf, type Projection } from '../projection.js'
import { contactTimeline, type TimelineEntry } from '../read-models/contact-timeline.js'
import { messages, type MessageDocument } from '../read-models/messages.js'

/** Entries that are given together. */
const pageSize = 32

/**
 * The entries of a kind in the timeline of a contact. One whose stream is closed meanwhile comes once more.
 * @throws StoreFailed, and when `stopping` aborts: a contact may have any number of them
 */
export async function* entriesOf(
  documents: Pick<Documents, 'find'>,
  contactId: ContactId,
  kind: TimelineEntry['kind'],
  stopping: AbortSignal,
): AsyncGenerator<ReadonlyArray<TimelineEntry>> {
  for await (const page of pagesOf(documents, contactTimeline, contactId, ({ order }) => order, stopping))
    yield page.filter((entry) => entry.kind === kind)
}

/** All that was written to a contact and by it. @throws as `entriesOf` */
export const messagesOf = (
  documents: Pick<Documents, 'find'>,
  contactId: ContactId,
  stopping: AbortSignal,
): AsyncGenerator<ReadonlyArray<MessageDocument>> =>
  pagesOf(documents, messages, contactId, ({ created_at }) => created_at, stopping)

async function* pagesOf<Document extends Json>(
  { find }: Pick<Documents, 'find'>,
  projection: Projection<Document>,
  contactId: ContactId,
  orderOf: (document: Document) => string,
  stopping: AbortSignal,
): AsyncGenerator<ReadonlyArray<Document>> {
  let after: Cursor | undefined
  for (;;) {
    stopping.throwIfAborted()
    const query = { index: 'by_contact', equals: [contactId], limit: pageSize }
    const page = orThrow(await find(collectionOf(projection), after === undefined ? query : { ...query, after }))
    // A collection holds what its own projection made.
    const found = page.map(({ document }) => document as Document)
    yield found
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return
    after = { key: last.key, value: orderOf(last.document as Document) }
  }
}
