import type { AnyBulkWriteOperation, Filter, IndexDescription } from 'mongodb'
import type { Change, Collection, Entry, IndexValue, Json, Query, Stored } from '../../projections/ports.js'
import { Failed } from './failure.js'

/**
 * A document as it is stored: the newest change to it, whole in one field, so that one `$max` guards it. BSON compares field
 * by field, so `position` must stay the first.
 */
export type DocumentRecord = {
  readonly _id: string
  readonly change: {
    readonly position: bigint
    /** Falls from write to write, so that of two changes at one position the first one stays. */
    readonly turn: number
    /** JSON text: a vendor's field names hold `$`, dots, NUL and halves of characters, which BSON can't keep. */
    readonly body?: string
    /** The fields that the indexes are about. A removed document has none, and no body. */
    readonly index?: Readonly<Record<string, IndexValue>>
  }
}

/** What a reader needs of a record. */
export const readFields = { 'change.position': 1, 'change.body': 1 } as const

/**
 * Writes a change unless one stands there that is not older. The filter names the key alone: then the server itself settles
 * a race between two first changes, where a filter with a position in it would answer the newer one that its key is taken.
 * It is `updateMany` because FerretDB keeps hold of a connection for each `updateOne` that found its document until the whole
 * command is done, and stands still for ever when a hundred are gone.
 */
export const writeOf = (
  { key, document, position }: Change,
  turn: number,
  fields: ReadonlyArray<string>,
): AnyBulkWriteOperation<DocumentRecord> => ({
  updateMany: {
    filter: { _id: key },
    update: {
      $max: {
        change:
          document === undefined
            ? { position, turn }
            : { position, turn, body: JSON.stringify(document), index: indexOf(document, fields) },
      },
    },
    upsert: true,
  },
})

export const fieldsOf = ({ indexes }: Collection): ReadonlyArray<string> => [...new Set(Object.values(indexes).flat())]

const indexOf = (document: Json, fields: ReadonlyArray<string>): Readonly<Record<string, IndexValue>> => {
  const index: Record<string, IndexValue> = {}
  for (const field of fields) {
    const value = document[field]
    if (typeof value === 'string' || typeof value === 'number') index[field] = value
  }
  return index
}

const pathOf = (field: string): string => `change.index.${field}`

/** What is matched, what orders, and what breaks ties: each query is one stretch of one index, in its order. */
export const indexesOf = ({ indexes }: Collection): ReadonlyArray<IndexDescription> =>
  Object.entries(indexes).map(([name, fields]) => ({
    name,
    key: Object.fromEntries([...fields.map(pathOf), '_id'].map((path) => [path, 1])),
  }))

/** How a query is asked. The values of a field are all numbers or all texts: a bound is of the type of what it bounds. */
export const selectionOf = (
  { name, indexes }: Collection,
  { index, equals, from: least, upTo, after, descending = false }: Omit<Query, 'limit'>,
): { readonly filter: Filter<DocumentRecord>; readonly sort: Readonly<Record<string, 1 | -1>> } => {
  const last = indexes[index]?.at(-1)
  if (last === undefined) throw new Error(`${name} has no index ${index}`)
  const order = pathOf(last)
  const [beyond, from] = descending ? (['$lt', '$lte'] as const) : (['$gt', '$gte'] as const)
  const direction = descending ? -1 : 1
  const matched = (indexes[index] ?? []).slice(0, -1).map((field, n) => ({ [pathOf(field)]: equals[n] }))
  const bounds = [
    ...(least === undefined ? [] : [{ [order]: { $gte: least } }]),
    ...(upTo === undefined ? [] : [{ [order]: { $lte: upTo } }]),
    // The first of the two is a bound of the index too, which the second alone would not be.
    ...(after === undefined
      ? []
      : [
          { [order]: { [from]: after.value } },
          { $or: [{ [order]: { [beyond]: after.value } }, { _id: { [beyond]: after.key } }] },
        ]),
  ]
  // Where nothing bounds the field it must at least be there.
  const present = bounds.length === 0 ? [{ [order]: { $type: ['number', 'string'] } }] : []
  return { filter: { $and: [...matched, ...bounds, ...present] }, sort: { [order]: direction, _id: direction } }
}

export const storedOf = ({ change: { position, body } }: DocumentRecord): Stored => ({
  document: body === undefined ? undefined : documentOf(body),
  position,
})

export const entryOf = ({ _id, change: { body } }: DocumentRecord): Entry => ({ key: _id, document: documentOf(body) })

/** @throws Failed */
const documentOf = (body: unknown): Json => {
  try {
    if (typeof body === 'string') return JSON.parse(body) as Json
  } catch {
    // What the parser says holds a piece of the text.
  }
  throw new Failed({ kind: 'corrupt', reason: 'a document holds no JSON' })
}
