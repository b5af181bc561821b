import { orThrow } from '../domain/store-failed.js'
import type { Collection, Cursor, Documents, Entry, IndexValue, Query } from './ports.js'

/** Where the page after this entry begins: an index orders what it shows by its last field. */
export const cursorOf = (
  { indexes }: Pick<Collection, 'indexes'>,
  index: string,
  { key, document }: Entry,
): Cursor => ({
  value: document[indexes[index]?.at(-1) ?? ''] as IndexValue,
  key,
})

/**
 * All that a query finds, in pages of its limit. The next one is read when it is asked for.
 * @throws StoreFailed
 */
export async function* pagesOf(
  documents: Pick<Documents, 'find'>,
  collection: Collection,
  query: Query,
): AsyncGenerator<ReadonlyArray<Entry>> {
  let { after } = query
  for (;;) {
    const page = orThrow(await documents.find(collection, after === undefined ? query : { ...query, after }))
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < query.limit) return
    after = cursorOf(collection, query.index, last)
  }
}
