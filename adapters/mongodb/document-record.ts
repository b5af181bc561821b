import type { AnyBulkWriteOperation, Filter, IndexDescription } from 'mongodb'
import { positionOf } from '../../domain/event.js'
import type {
  Change,
  Collection,
  Entry,
  IndexValue,
  Json,
  Query,
  Stored,
  WalkedEntry,
} from '../../projections/ports.js'
import { OperationFailed, tooLarge } from './failure.js'

/**
 * A document as it is stored: the newest change to it in one field, so that one `$max` never replaces it by an older
 * one. BSON compares objects field by field, in their order: `position` must stay the first.
 */
export type DocumentRecord = {
  readonly _id: string
  readonly change: {
    /** Of the newest event that the document reflects. */
    readonly position: bigint
    /** Decreases from write to write, so that of two changes at one position the first one stays. */
    readonly turn: number
    /** JSON text: a vendor's field names may hold `$`, dots, NUL and halves of surrogate pairs, which BSON can't hold. */
    readonly body?: string
    /** The fields that the indexes are about. A removed document has none, and no body. */
    readonly index?: Readonly<Record<string, IndexValue>>
  }
}

/** The fields that a reader needs. */
export const readFields = { 'change.position': 1, 'change.body': 1 } as const

/** In bytes: what MongoDB holds, less the fields around the text. A larger one breaks the driver, or is refused by the server. */
const largestBody = 16 * 1024 * 1024 - 64 * 1024

/**
 * Writes a change unless the stored one is as new or newer. The filter names the key alone: with a position in it a stale
 * change would not match, try to insert the document and fail because its key exists. It is `updateMany` because of FerretDB:
 * for each `updateOne` that finds its document it reserves a connection until the command is done, and with a hundred of them
 * in one command it hangs for ever. Of an `updateMany` neither the server nor the driver tries anything again by itself: two
 * that insert one key at the same time (11000), and a connection that breaks, are left to us.
 * @throws OperationFailed where the document is too large
 */
export const encodeChange = (
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
            : { position, turn, body: bodyOf(document), index: indexOf(document, fields) },
      },
    },
    upsert: true,
  },
})

const bodyOf = (document: Json): string => {
  const body = JSON.stringify(document)
  if (Buffer.byteLength(body) > largestBody) throw new OperationFailed({ kind: 'corrupt', reason: tooLarge })
  return body
}

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

/** The matched fields, the one that orders and the key that breaks ties: so each query reads one stretch of one index in order. */
export const indexesOf = ({ indexes }: Collection): ReadonlyArray<IndexDescription> =>
  Object.entries(indexes).map(([name, fields]) => ({
    name,
    key: Object.fromEntries([...fields.map(pathOf), '_id'].map((path) => [path, 1])),
  }))

/** Of the field that an index begins with. */
export const firstPathOf = ({ name, indexes }: Collection, index: string): string => {
  const first = indexes[index]?.[0]
  if (first === undefined) throw new Error(`${name} has no index ${index}`)
  return pathOf(first)
}

/** The filter and order of a query. All values of a field are of one type, number or text, and so are its bounds. */
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
    // The first condition follows from the second, but only the first is one that an index can use as a bound.
    ...(after === undefined
      ? []
      : [
          { [order]: { [from]: after.value } },
          { $or: [{ [order]: { [beyond]: after.value } }, { _id: { [beyond]: after.key } }] },
        ]),
  ]
  // A document without the field is not part of the index; a bound excludes it already.
  const present = bounds.length === 0 ? [{ [order]: { $type: ['number', 'string'] } }] : []
  return { filter: { $and: [...matched, ...bounds, ...present] }, sort: { [order]: direction, _id: direction } }
}

export const decodeStored = ({ change: { position, body } }: DocumentRecord): Stored => ({
  document: body === undefined ? undefined : documentOf(body),
  position: positionOf(position),
})

export const decodeEntry = ({ _id, change: { body } }: DocumentRecord): Entry => ({
  key: _id,
  document: documentOf(body),
})

export const decodeWalkedEntry = (record: DocumentRecord): WalkedEntry => {
  try {
    return decodeEntry(record)
  } catch {
    return { key: record._id, document: undefined }
  }
}

/** @throws OperationFailed */
const documentOf = (body: unknown): Json => {
  try {
    if (typeof body === 'string') return JSON.parse(body) as Json
  } catch {
    // The message of the parser holds a piece of the text.
  }
  throw new OperationFailed({ kind: 'corrupt', reason: 'a document holds no JSON' })
}
