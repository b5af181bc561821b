import type { StoreFailure } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
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
 * All that a query finds, in pages of its limit. The next one is read when it is asked for; none comes after a failure.
 */
export async function* pageResultsOf(
  documents: Pick<Documents, 'find'>,
  collection: Collection,
  query: Query,
): AsyncGenerator<Either<StoreFailure, ReadonlyArray<Entry>>> {
  let { after } = query
  for (;;) {
    const page = await documents.find(collection, after === undefined ? query : { ...query, after })
    yield page
    if (E.isLeft(page)) return
    const last = page.right.at(-1)
    if (last === undefined || page.right.length < query.limit) return
    after = cursorOf(collection, query.index, last)
  }
}

/**
 * As `pageResultsOf`, for whoever can't go on after a failure.
 * @throws StoreFailed
 */
export async function* pagesOf(
  documents: Pick<Documents, 'find'>,
  collection: Collection,
  query: Query,
): AsyncGenerator<ReadonlyArray<Entry>> {
  for await (const page of pageResultsOf(documents, collection, query)) yield orThrow(page)
}
