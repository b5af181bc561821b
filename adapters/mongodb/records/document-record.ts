import { BSON } from 'mongodb'
import { approximateBytes } from '../../../domain/approximate-size.js'
import { positionOf } from '../../../domain/event.js'
import type { Change, Collection, Entry, Json, Stored, WalkedEntry } from '../../../projections/ports.js'
import { OperationFailed, tooLarge } from '../failure.js'
import { asJson, attributesOf, bsonOf, fieldsOfAttributes, isFieldName, jsonOf, parsed, textField } from './json.js'

/** A document as it is stored: its fields under their own names, and beside them ours, which begin with `_`. */
export type DocumentRecord = {
  readonly _id: string
  /** Of the newest event that the document reflects: nothing older replaces it. */
  readonly _position: bigint
  /** Of the build of the read model that wrote it. A later build replaces what an earlier one wrote late. */
  readonly _generation: number
  /** Instead of fields: the document was removed, and only its position is still needed. */
  readonly _removed?: true
  readonly [field: string]: unknown
}

/**
 * In bytes: what MongoDB holds, less what a command adds. A larger one breaks the driver, or is refused by the server.
 */
const largestRecord = 16 * 1024 * 1024 - 64 * 1024

/** At most so many bytes of BSON for each byte that is counted by `approximateBytes`. */
const largestRatio = 4

/** @throws OperationFailed where the document is too large */
export const encodeChange = (
  { key, document, position }: Change,
  generation: number,
  { namedByOthers = [] }: Pick<Collection, 'namedByOthers'>,
): DocumentRecord => {
  const guard = { _id: key, _position: position, _generation: generation }
  if (document === undefined) return { ...guard, _removed: true }
  const record: Record<string, unknown> = {}
  const others: Array<readonly [string, unknown]> = []
  for (const [name, value] of Object.entries(document)) {
    if (value === undefined) continue
    if (name.startsWith('_') || !isFieldName(name)) others.push([name, value])
    else record[name] = namedByOthers.includes(name) ? attributesOf(value) : bsonOf(value)
  }
  const encoded = { ...guard, ...record, ...(others.length === 0 ? {} : (asJson(Object.fromEntries(others)) as Json)) }
  const mayBeTooLarge = approximateBytes(document) > largestRecord / largestRatio
  if (mayBeTooLarge && BSON.calculateObjectSize(encoded) > largestRecord)
    throw new OperationFailed({ kind: 'corrupt', reason: tooLarge })
  return encoded
}

export const decodeStored = (record: DocumentRecord, collection: Pick<Collection, 'namedByOthers'>): Stored => ({
  document: record._removed === true ? undefined : documentOf(record, collection),
  position: positionOf(record._position),
})

export const decodeEntry = (record: DocumentRecord, collection: Pick<Collection, 'namedByOthers'>): Entry => ({
  key: record._id,
  document: documentOf(record, collection),
})

export const decodeWalkedEntry = (
  record: DocumentRecord,
  collection: Pick<Collection, 'namedByOthers'>,
): WalkedEntry => {
  try {
    return decodeEntry(record, collection)
  } catch {
    return { key: record._id, document: undefined }
  }
}

/** @throws OperationFailed */
const documentOf = (record: DocumentRecord, { namedByOthers = [] }: Pick<Collection, 'namedByOthers'>): Json => {
  const document: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(record)) {
    if (!name.startsWith('_')) document[name] = namedByOthers.includes(name) ? fieldsOfAttributes(value) : jsonOf(value)
  }
  const others = record[textField]
  return others === undefined ? document : { ...document, ...(parsed(others) as Json) }
}
