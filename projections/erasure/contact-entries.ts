import type { ContactId } from '../../domain/ids.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Cursor, Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { contactTimeline, type TimelineEntry } from '../read-models/contact-timeline.js'

const timeline = collectionOf(contactTimeline)

/** Entries that are given together. */
const pageSize = 32

/**
 * The entries of a kind in the timeline of a contact. One whose stream is closed meanwhile comes once more.
 * @throws StoreFailed
 */
export async function* entriesOf(
  { find }: Pick<Documents, 'find'>,
  contactId: ContactId,
  kind: TimelineEntry['kind'],
): AsyncGenerator<ReadonlyArray<TimelineEntry>> {
  let after: Cursor | undefined
  for (;;) {
    const query = { index: 'by_contact', equals: [contactId], limit: pageSize }
    const page = orThrow(await find(timeline, after === undefined ? query : { ...query, after }))
    // A collection holds what its own projection made.
    const entries = page.map(({ document }) => document as TimelineEntry)
    yield entries.filter((entry) => entry.kind === kind)
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return
    after = { key: last.key, value: (last.document as TimelineEntry).order }
  }
}
