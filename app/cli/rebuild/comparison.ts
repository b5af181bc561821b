import type { Documents, WalkedEntry } from '../../../projections/ports.js'
import { collectionOf, type AnyProjection } from '../../../projections/projection.js'

/**
 * How the generation that is served and the next one of a read model compare: documents of the next, and how many
 * differ.
 */
type Comparison = { readonly documents: number; readonly differing: number }

/** Reads both generations side by side, in the order of their keys. */
export const compareGenerations = async (projection: AnyProjection, documents: Documents): Promise<Comparison> => {
  const live = documents.all(collectionOf(projection))[Symbol.asyncIterator]()
  const next = documents.all(collectionOf(projection, 'next'))[Symbol.asyncIterator]()
  let count = 0
  let differing = 0
  let before = await entryOf(live)
  let after = await entryOf(next)
  while (before !== undefined || after !== undefined) {
    const isOnlyBefore = after === undefined || (before !== undefined && before.key < after.key)
    const isOnlyAfter = before === undefined || (after !== undefined && after.key < before.key)
    const isSame =
      before !== undefined && after !== undefined && canonical(before.document) === canonical(after.document)
    if (isOnlyBefore || isOnlyAfter || !isSame) differing += 1
    if (!isOnlyBefore) count += 1
    if (!isOnlyAfter) before = await entryOf(live)
    if (!isOnlyBefore) after = await entryOf(next)
  }
  return { documents: count, differing }
}

const entryOf = async (entries: AsyncIterator<WalkedEntry, unknown>): Promise<WalkedEntry | undefined> => {
  const next = await entries.next()
  return next.done === true ? undefined : next.value
}

/** JSON with the fields of every object in one order: a store need not keep theirs. */
const canonical = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
