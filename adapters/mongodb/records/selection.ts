import type { Filter, IndexDescription } from 'mongodb'
import type { Collection, IndexValue, Query } from '../../../projections/ports.js'
import type { DocumentRecord } from './document-record.js'
import { bsonOf, jsonOf } from './json.js'

/**
 * The matched fields, the one that orders and the key that breaks ties: so each query reads one stretch of one index in
 * order.
 */
export const indexesOf = ({ indexes }: Collection): ReadonlyArray<IndexDescription> =>
  Object.entries(indexes).map(([name, fields]) => ({
    name,
    key: Object.fromEntries([...fields, '_id'].map((field) => [field, 1])),
  }))

export const firstFieldOf = ({ name, indexes }: Collection, index: string): string => {
  const first = indexes[index]?.[0]
  if (first === undefined) throw new Error(`${name} has no index ${index}`)
  return first
}

/** What an index orders by, among the different values of a field. */
export const indexValuesOf = (values: ReadonlyArray<unknown>): ReadonlyArray<IndexValue> =>
  values.map(jsonOf).filter((value) => typeof value === 'string' || typeof value === 'number')

/**
 * The filter and order of a query. All values of a field are of one type, number, text or date, and so are its bounds.
 */
export const selectionOf = (
  { name, indexes }: Collection,
  { index, equals, from: least, upTo, after, descending = false, except = [] }: Omit<Query, 'limit'>,
): { readonly filter: Filter<DocumentRecord>; readonly sort: Readonly<Record<string, 1 | -1>> } => {
  const order = indexes[index]?.at(-1)
  if (order === undefined) throw new Error(`${name} has no index ${index}`)
  const [beyond, from] = descending ? (['$lt', '$lte'] as const) : (['$gt', '$gte'] as const)
  const direction = descending ? -1 : 1
  const matched = (indexes[index] ?? []).slice(0, -1).map((field, n) => ({ [field]: bsonOf(equals[n]) }))
  const bounds = [
    ...(least === undefined ? [] : [{ [order]: { $gte: bsonOf(least) } }]),
    ...(upTo === undefined ? [] : [{ [order]: { $lte: bsonOf(upTo) } }]),
    // The first condition follows from the second, but only the first is one that an index can use as a bound.
    ...(after === undefined
      ? []
      : [
          { [order]: { [from]: bsonOf(after.value) } },
          { $or: [{ [order]: { [beyond]: bsonOf(after.value) } }, { _id: { [beyond]: after.key } }] },
        ]),
  ]
  // A document without the field is not part of the index; a bound excludes it already.
  const present = bounds.length === 0 ? [{ [order]: { $type: ['number', 'string', 'date'] } }] : []
  const others = except.length === 0 ? [] : [{ _id: { $nin: except } }]
  const filter = { $and: [...matched, ...bounds, ...present, ...others] } as Filter<DocumentRecord>
  return { filter, sort: { [order]: direction, _id: direction } }
}
