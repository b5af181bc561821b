import { positionOf } from '../../../domain/event.js'
import type {
  Change,
  Collection,
  CountedPart,
  Cursor,
  Entry,
  IndexPart,
  Json,
  Query,
  Stored,
  WalkedEntry,
} from '../../../projections/ports.js'
import { boundLimit } from '../bound-limit.js'
import { viewOf } from '../writer/views.js'
import type { DocumentRow } from '../writer/writer-protocol.js'

/** How documents stand in tables: a column for the JSON, and one for each field that an index is about. */

export type EntryRow = { readonly key: string; readonly body: string }
/** Read as a list: the driver takes twice as long to make an object. */
export type StoredRow = readonly [key: string, position: number, body: string | null]

export const columnsOf = ({ indexes }: Collection): ReadonlyArray<string> => [...new Set(Object.values(indexes).flat())]

export const encodeChange = ({ key, document, position }: Change, columns: ReadonlyArray<string>): DocumentRow => [
  key,
  Number(position),
  document === undefined ? null : JSON.stringify(document),
  ...columns.map((column) => {
    const value = document?.[column]
    return typeof value === 'string' || typeof value === 'number' ? value : null
  }),
]

export const decodeStored = ([, position, body]: StoredRow): Stored => ({
  document: body === null ? undefined : (JSON.parse(body) as Json),
  position: positionOf(BigInt(position)),
})

export const decodeEntry = ({ key, body }: EntryRow): Entry => ({ key, document: JSON.parse(body) as Json })

export const decodeWalkedEntry = (row: EntryRow): WalkedEntry => {
  try {
    return decodeEntry(row)
  } catch {
    return { key: row.key, document: undefined }
  }
}

/**
 * The next generation gets its indexes when it is promoted: a table that is filled in bulk is indexed fastest at the
 * end. That of the keys has a name, so that it can be dropped before the rows are.
 */
export const creation = (collection: Collection, table: string): ReadonlyArray<string> => [
  `CREATE TABLE "${table}" (key TEXT NOT NULL, position INTEGER NOT NULL, body TEXT${columnsOf(collection)
    .map((column) => `, "${column}"`)
    .join('')})`,
  `CREATE UNIQUE INDEX "${table}/key" ON "${table}" (key)`,
  `INSERT INTO collections (name, version, generation, table_name, checkpoint)
   VALUES ('${collection.name}', ${collection.version}, '${collection.generation}', '${table}', 0)`,
  ...(collection.generation === 'live' ? [...indexing(collection, table), ...view(collection, table)] : []),
]

/** Puts a table, which has its indexes, in the place of the others of its name. */
export const promotion = (
  collection: Collection,
  table: string,
  others: ReadonlyArray<string>,
): ReadonlyArray<string> => [
  ...others.map(retirement),
  `UPDATE collections SET generation = 'live' WHERE table_name = '${table}'`,
  ...view(collection, table),
]

/** From then on nobody finds the table, and it is there to be removed only. */
export const retirement = (table: string): string =>
  `UPDATE collections SET generation = 'retired/' || table_name WHERE table_name = '${table}'`

/** Rows that one statement deletes. */
const deletedAtOnce = 5_000

/**
 * What is removed is overwritten, so to drop a full table at once would hold up all writes: one statement after the
 * other removes it.
 */
export const removal = (table: string, indexes: ReadonlyArray<string>, lastRow: number): ReadonlyArray<string> => [
  ...indexes.map((index) => `DROP INDEX "${index}"`),
  ...Array.from(
    { length: Math.ceil(lastRow / deletedAtOnce) },
    (_, n) => `DELETE FROM "${table}" WHERE rowid <= ${(n + 1) * deletedAtOnce}`,
  ),
  `DROP TABLE "${table}"; DELETE FROM collections WHERE table_name = '${table}'`,
]

/**
 * One statement for each. A document without the first field of an index stays out of it. What is there already stays.
 */
export const indexing = ({ indexes }: Collection, table: string): ReadonlyArray<string> =>
  Object.entries(indexes).map(([index, fields]) => {
    const columns = [...fields, 'key'].map((field) => `"${field}"`).join(', ')
    const where = `WHERE "${fields[0] ?? 'key'}" IS NOT NULL`
    return `CREATE INDEX IF NOT EXISTS "${table}/${index}" ON "${table}" (${columns}) ${where}`
  })

const view = (collection: Collection, table: string): ReadonlyArray<string> => [
  `DROP VIEW IF EXISTS "${collection.name}"`,
  viewOf(collection.name, table, columnsOf(collection)),
]

type Values = ReadonlyArray<string | number>
type Selection = { readonly sql: string; readonly values: Values }

export const selection = (
  collection: Collection,
  table: string,
  { after, descending = false, except = [], limit, ...part }: Query,
): Selection => {
  const order = orderOf(fieldsOf(collection, part.index))
  const direction = descending ? 'DESC' : 'ASC'
  const { where, values } = conditions(fieldsOf(collection, part.index), part)
  const beyond = after === undefined ? '' : ` AND (${order}, key) ${descending ? '<' : '>'} (?, ?)`
  const other = except.length === 0 ? '' : ' AND key NOT IN (SELECT value FROM json_each(?))'
  const sql = `SELECT key, body FROM "${table}" WHERE ${where}${beyond}${other}
               ORDER BY ${order} ${direction}, key ${direction} ${boundLimit}`
  const keys = except.length === 0 ? [] : [JSON.stringify(except)]
  return { sql, values: [...values, ...cursorValues(after), ...keys, limit] }
}

const cursorValues = (after: Cursor | undefined): Values => (after === undefined ? [] : [after.value, after.key])

type CountedSlice = CountedPart & { readonly after: Cursor | undefined }

/** How many entries there are, from one on. */
export const counting = (collection: Collection, table: string, slice: CountedSlice): Selection => {
  const { where, values } = slicing(collection, slice)
  const sql = `SELECT count(*) AS documents FROM (SELECT 1 FROM "${table}" WHERE ${where} ${boundLimit})`
  return { sql, values: [...values, slice.limit] }
}

/** Where so many entries end, from one on: nothing where there are fewer. */
export const sliceEnd = (collection: Collection, table: string, slice: CountedSlice): Selection => {
  const { where, values } = slicing(collection, slice)
  const order = orderOf(fieldsOf(collection, slice.index))
  const sql = `SELECT ${order} AS value, key FROM "${table}" WHERE ${where} ORDER BY ${order}, key LIMIT 1 OFFSET ?`
  return { sql, values: [...values, slice.limit - 1] }
}

const slicing = (collection: Collection, { after, ...part }: CountedSlice) => {
  const fields = fieldsOf(collection, part.index)
  const { where, values } = conditions(fields, part)
  const beyond = after === undefined ? '' : ` AND (${orderOf(fields)}, key) > (?, ?)`
  return { where: where + beyond, values: [...values, ...cursorValues(after)] }
}

/** Leaps in the index from each value to the next one. */
export const differentValues = (collection: Collection, table: string, index: string): string => {
  const field = `"${fieldsOf(collection, index)[0] ?? 'key'}"`
  const least = (condition: string): string => `SELECT min(${field}) FROM "${table}" WHERE ${field} ${condition}`
  return `WITH RECURSIVE each(value) AS (
            ${least('IS NOT NULL')} UNION ALL SELECT (${least('> value')}) FROM each WHERE value IS NOT NULL
          ) SELECT value FROM each WHERE value IS NOT NULL`
}

const fieldsOf = ({ name, indexes }: Collection, index: string): ReadonlyArray<string> => {
  const fields = indexes[index]
  if (fields === undefined) throw new Error(`${name} has no index ${index}`)
  return fields
}

const orderOf = (fields: ReadonlyArray<string>): string => `"${fields.at(-1) ?? 'key'}"`

const conditions = (
  fields: ReadonlyArray<string>,
  { equals, from, upTo }: IndexPart,
): { readonly where: string; readonly values: Values } => {
  const order = orderOf(fields)
  const all = [
    ...fields.slice(0, -1).map((field) => `"${field}" = ?`),
    `${order} IS NOT NULL`,
    ...(from === undefined ? [] : [`${order} >= ?`]),
    ...(upTo === undefined ? [] : [`${order} <= ?`]),
  ]
  return { where: all.join(' AND '), values: [...equals, ...[from, upTo].filter((bound) => bound !== undefined)] }
}
