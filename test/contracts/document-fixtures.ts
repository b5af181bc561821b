import { randomBytes } from 'node:crypto'
import type { Change, Collection, Cursor, Documents, Entry, Json, Query } from '../../projections/ports.js'
import { rightOf } from '../kit/right-of.js'
import { positionAt } from '../kit/domain/samples.js'

export type OpenDocuments = {
  readonly documents: Documents
  /** Closes the store and opens it again on the same data. */
  readonly reopen: () => Promise<Documents>
  readonly close: () => Promise<void>
}

export type Ranked = { readonly group?: string; readonly rank?: number }

/** A collection that no other test writes to, on whatever data the store was opened. */
export const freshCollection = (): Collection => ({
  name: `contract_${randomBytes(8).toString('hex')}`,
  version: 1,
  indexes: { by_group: ['group', 'rank'], by_name: ['name'] },
  generation: 'live',
})

export const prepared = async (documents: Documents): Promise<Collection> => {
  const collection = freshCollection()
  rightOf(await documents.prepare(collection))
  return collection
}

export const nextOf = async (documents: Documents, live: Collection): Promise<Collection> => {
  const next = { ...live, generation: 'next' } as const
  rightOf(await documents.prepare(next))
  return next
}

export const filled = async (documents: Documents): Promise<Collection> => {
  const collection = await prepared(documents)
  const changes = [
    put('a', 10n, { group: 'a', rank: 2, name: 'Ann' }),
    put('b', 10n, { group: 'a', rank: 3, name: 'Bob' }),
    put('c', 10n, { group: 'a', rank: 2 }),
    put('d', 10n, { group: 'a', rank: 1 }),
    put('e', 10n, { group: 'b', rank: 1, name: 'Eve' }),
    put('f', 10n, { group: 'a', name: 'Flo' }),
    put('g', 10n, { rank: 1 }),
  ]
  await apply(documents, collection, changes, 10n)
  return collection
}

export const put = (key: string, position: bigint, document: Json): Change => ({
  key,
  position: positionAt(position),
  document,
})
export const remove = (key: string, position: bigint): Change => ({
  key,
  position: positionAt(position),
  document: undefined,
})

export const apply = async (
  documents: Documents,
  collection: Collection,
  changes: ReadonlyArray<Change>,
  checkpoint: bigint,
): Promise<void> => {
  rightOf(await documents.apply(collection, changes, positionAt(checkpoint)))
}

export const contentOf = async (
  documents: Documents,
  collection: Collection,
): Promise<Readonly<Record<string, Json | undefined>>> => {
  const content: Record<string, Json | undefined> = {}
  for await (const { key, document } of documents.all(collection)) content[key] = document
  return content
}

export const byGroup = (group: string): Query => ({ index: 'by_group', equals: [group], limit: 10 })

export const keysOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => entries.map(({ key }) => key)

export const cursorOf = (entry: Entry | undefined): Cursor => ({
  value: (entry?.document as Ranked | undefined)?.rank ?? 0,
  key: entry?.key ?? '',
})

export const pages = async (
  documents: Documents,
  collection: Collection,
  query: Query,
): Promise<ReadonlyArray<Entry>> => {
  const all: Array<Entry> = []
  for (;;) {
    const last = all.at(-1)
    const asked = last === undefined ? query : { ...query, after: cursorOf(last) }
    const page = rightOf(await documents.find(collection, asked))
    if (page.length === 0) return all
    all.push(...page)
  }
}

/** What a query of `by_group` must find, worked out the slow way. */
export const walk = (all: Readonly<Record<string, Ranked>>, query: Query): ReadonlyArray<Entry> => {
  const direction = query.descending === true ? -1 : 1
  const compare = (one: Cursor, other: Cursor): number => {
    if (one.value !== other.value) return one.value < other.value ? -direction : direction
    return one.key < other.key ? -direction : one.key > other.key ? direction : 0
  }
  return Object.entries(all)
    .map(([key, document]) => ({ key, document }))
    .filter(({ document }) => document.group === query.equals[0] && document.rank !== undefined)
    .filter(({ key }) => query.except?.includes(key) !== true)
    .filter((entry) => query.from === undefined || cursorOf(entry).value >= query.from)
    .filter((entry) => query.upTo === undefined || cursorOf(entry).value <= query.upTo)
    .filter((entry) => query.after === undefined || compare(cursorOf(entry), query.after) > 0)
    .toSorted((one, other) => compare(cursorOf(one), cursorOf(other)))
    .slice(0, query.limit)
}
