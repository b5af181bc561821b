import type { ContactId } from '../../domain/ids.js'
import { pagesOf } from '../pages.js'
import type { Documents, Json } from '../ports.js'
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
  for await (const page of documentsOf(documents, contactTimeline, contactId, stopping))
    yield page.filter((entry) => entry.kind === kind)
}

/** All that was written to a contact and by it. @throws as `entriesOf` */
export const messagesOf = (
  documents: Pick<Documents, 'find'>,
  contactId: ContactId,
  stopping: AbortSignal,
): AsyncGenerator<ReadonlyArray<MessageDocument>> => documentsOf(documents, messages, contactId, stopping)

/** In the order of the index. */
async function* documentsOf<Document extends Json>(
  documents: Pick<Documents, 'find'>,
  projection: Projection<Document>,
  contactId: ContactId,
  stopping: AbortSignal,
): AsyncGenerator<ReadonlyArray<Document>> {
  const find: Documents['find'] = (collection, query) => {
    stopping.throwIfAborted()
    return documents.find(collection, query)
  }
  const query = { index: 'by_contact', equals: [contactId], limit: pageSize }
  for await (const page of pagesOf({ find }, collectionOf(projection), query))
    // A collection holds what its own projection made.
    yield page.map(({ document }) => document as Document)
}
