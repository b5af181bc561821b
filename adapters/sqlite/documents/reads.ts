import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { orThrow } from '../../../domain/store-failed.js'
import type {
  Collection,
  CountedPart,
  Cursor,
  Documents,
  Entry,
  IndexValue,
  WalkedEntry,
} from '../../../projections/ports.js'
import { counting, decodeEntry, decodeWalkedEntry, differentValues, selection, sliceEnd, type EntryRow } from './sql.js'
import { keyedReads } from './keyed-reads.js'
import type { DocumentTables } from './tables.js'
import { othersHadTheirTurn, readingTurns } from './read-turns.js'

/** Documents that a walk reads at once, and rows that a count does. */
const pageSize = 1000
const countedAtOnce = 10_000

export const documentReads = (
  tables: DocumentTables,
): Pick<Documents, 'get' | 'getToFold' | 'find' | 'count' | 'values' | 'all'> => ({
  find: finding(tables),

  ...keyedReads(tables),

  count: (collection, part) =>
    part === undefined ? countAll(tables, collection) : countPart(tables, collection, part),

  values: (collection, index) =>
    Promise.resolve(
      tables.read<ReadonlyArray<IndexValue>>(collection, [], (prepare, table) =>
        prepare<{ value: IndexValue }>(differentValues(collection, table, index))
          .all()
          .map(({ value }) => value),
      ),
    ),

  all: async function* (collection: Collection): AsyncGenerator<WalkedEntry> {
    let after = ''
    for (;;) {
      const page = tables.read<ReadonlyArray<WalkedEntry>>(collection, [], (prepare, table) => {
        const sql = `SELECT key, body FROM "${table}" WHERE key > ? AND body IS NOT NULL ORDER BY key LIMIT ${pageSize}`
        return prepare<EntryRow>(sql).all(after).map(decodeWalkedEntry)
      })
      const entries = orThrow(page)
      yield* entries
      const last = entries.at(-1)
      if (last === undefined) return
      after = last.key
      await othersHadTheirTurn()
    }
  },
})

const finding = (tables: DocumentTables): Documents['find'] => {
  const turnAfter = readingTurns()
  return (collection, query) => {
    const found = tables.read<ReadonlyArray<Entry>>(collection, [], (prepare, table) => {
      const { sql, values } = selection(collection, table, query)
      return prepare<EntryRow>(sql)
        .all(...values)
        .map(decodeEntry)
    })
    const turn = turnAfter(E.isRight(found) ? found.right.length : 0)
    return turn === undefined ? Promise.resolve(found) : turn.then(() => found)
  }
}

const countAll = async (tables: DocumentTables, collection: Collection): Promise<Either<StoreFailure, number>> => {
  let documents = 0
  for (let after = 0; ; after += countedAtOnce) {
    const page = tables.read(collection, undefined, (prepare, table) => {
      const last = prepare<number | null>(`SELECT max(rowid) FROM "${table}"`).pluck().get() ?? 0
      const sql = `SELECT count(*) FROM "${table}" WHERE rowid > ? AND rowid <= ? AND body IS NOT NULL`
      const counted =
        prepare<number>(sql)
          .pluck()
          .get(after, after + countedAtOnce) ?? 0
      return { counted, isLast: last <= after + countedAtOnce }
    })
    if (E.isLeft(page)) return page
    documents += page.right?.counted ?? 0
    if (page.right?.isLast ?? true) return E.right(documents)
    await othersHadTheirTurn()
  }
}

const countPart = async (
  tables: DocumentTables,
  collection: Collection,
  part: CountedPart,
): Promise<Either<StoreFailure, number>> => {
  let documents = 0
  let after: Cursor | undefined
  for (;;) {
    const slice = { ...part, after, limit: Math.min(part.limit - documents, countedAtOnce) }
    const isLast = part.limit - documents <= countedAtOnce
    const page = tables.read<{ readonly counted: number; readonly end: Cursor | undefined }>(
      collection,
      { counted: 0, end: undefined },
      (prepare, table) => {
        const whole = sliceEnd(collection, table, slice)
        const end = isLast ? undefined : prepare<Cursor>(whole.sql).get(...whole.values)
        if (end !== undefined) return { counted: slice.limit, end }
        const { sql, values } = counting(collection, table, slice)
        return { counted: prepare<{ documents: number }>(sql).get(...values)?.documents ?? 0, end }
      },
    )
    if (E.isLeft(page)) return page
    documents += page.right.counted
    if (page.right.end === undefined) return E.right(documents)
    after = page.right.end
    await othersHadTheirTurn()
  }
}
