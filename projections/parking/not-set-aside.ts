import { later, type Instant } from '../../domain/instant.js'
import type { Clock } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { cursorOf } from '../pages.js'
import type { Collection, Cursor, Documents, Entry, Query } from '../ports.js'

type Ports = { readonly documents: Pick<Documents, 'find'>; readonly clock: Pick<Clock, 'now'> }

/**
 * Ids that a query names at most: each costs some microseconds in each query, and MongoDB refuses queries of more than
 * 16 MB.
 */
const mostNamed = 5_000

/** Documents of a page where more are set aside, which are left out in memory then. */
const pageSize = 500

/**
 * In milliseconds: how long a stretch in which everything is set aside is skipped. Seldom does anything become due in
 * it.
 */
const skippedFor = 60_000

/** A stretch of an index of which all is set aside. */
type Run = { readonly from: Cursor; to: Cursor }
type SkippedRuns = { readonly runs: Array<Run>; readonly until: Instant }

/** By what is set aside in a place, and there by the part of the index. */
const known = new WeakMap<ReadonlyMap<string, unknown>, Map<string, SkippedRuns>>()

/**
 * Finds as `Documents.find` does, without what is set aside. A query reads a bounded number of documents; once a minute
 * one reads everything. Where much is set aside, and the order is a descending one, only the first page is read.
 * @throws StoreFailed
 */
export const findNotSetAside = async (
  ports: Ports,
  collection: Collection,
  query: Omit<Query, 'except'>,
  setAside: ReadonlyMap<string, unknown>,
): Promise<ReadonlyArray<Entry>> => {
  const { documents } = ports
  const isFree = ({ key }: Entry): boolean => !setAside.has(key)
  while (setAside.size <= mostNamed) {
    // The new field stands first, as `recordedAs` explains: this runs several times for each look at what is due.
    const shown = orThrow(await documents.find(collection, { except: [...setAside.keys()], ...query }))
    const free = shown.filter(isFree)
    // Where one was set aside while they were read, fewer than are wanted would mean that there are no more.
    if (free.length === shown.length || shown.length < query.limit) return free
  }
  const limit = Math.max(query.limit, pageSize)
  const runs = runsOf(ports, collection, query, setAside)
  const found: Array<Entry> = []
  let { after } = query
  for (;;) {
    const page = orThrow(
      await documents.find(collection, { ...query, limit, ...(after === undefined ? {} : { after }) }),
    )
    const free = page.filter(isFree)
    found.push(...free)
    const [first, last] = [page[0], page.at(-1)]
    const isAll = found.length >= query.limit || page.length < limit || query.descending === true
    if (isAll || first === undefined || last === undefined) return found.slice(0, query.limit)
    const end = cursorOf(collection, query.index, last)
    const run = runs.find(({ from, to }) => compared(from, end) <= 0 && compared(end, to) < 0)
    if (free.length === 0 && run === undefined) {
      const before = runs.find(({ to }) => after !== undefined && compared(to, after) === 0)
      if (before === undefined) runs.push({ from: cursorOf(collection, query.index, first), to: end })
      else before.to = end
    }
    after = run?.to ?? end
  }
}

/** What is released may stand anywhere, so the next query reads everything. */
export const forgetSkipped = (setAside: ReadonlyMap<string, unknown>): void => {
  known.delete(setAside)
}

const runsOf = (
  { clock }: Ports,
  { name }: Collection,
  { index, equals }: Omit<Query, 'except'>,
  setAside: ReadonlyMap<string, unknown>,
): Array<Run> => {
  const parts = known.get(setAside) ?? new Map<string, SkippedRuns>()
  known.set(setAside, parts)
  const part = JSON.stringify([name, index, equals])
  const now = clock.now()
  const skipped = parts.get(part)
  if (skipped !== undefined && now < skipped.until) return skipped.runs
  const begun = { runs: [], until: later(now, skippedFor) }
  parts.set(part, begun)
  return begun.runs
}

const compared = (one: Cursor, other: Cursor): number => {
  if (one.value !== other.value) return one.value < other.value ? -1 : 1
  return one.key === other.key ? 0 : one.key < other.key ? -1 : 1
}
