import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Change, Collection, Documents, Entry, IndexPart, Json, Query, Stored } from '../../projections/ports.js'
import type { Prepare, SqliteDatabase } from './database.js'
import type { DocumentRow, Write } from './write.js'

type Row = { readonly key: string; readonly body: string }
type StoredRow = { readonly position: number; readonly body: string | null }
type Registered = { readonly table: string; readonly checkpoint: number }

const pageSize = 1000

/** The `Documents` port on the embedded database: a table for each generation of a collection. */
export const sqliteDocuments = (database: SqliteDatabase): Documents => {
  const tables = new Map<string, string>()
  const preparing = new Map<string, Promise<Either<StoreFailure, void>>>()

  /** The name of the table that holds a generation; undefined when there is none. */
  const tableOf = (prepare: Prepare, collection: Collection): string | undefined => {
    const known = tables.get(nameOf(collection))
    if (known !== undefined) return known
    const table = registered(prepare, collection)?.table
    if (table !== undefined) tables.set(nameOf(collection), table)
    return table
  }

  const written = async (...writes: ReadonlyArray<Write>): Promise<Either<StoreFailure, void>> => {
    for (const result of await Promise.all(writes.map(database.write))) if (result._tag === 'Left') return result
    return E.right(undefined)
  }

  /** Reads from the table of a generation; `none` where there is no such generation. */
  const reading = <A>(
    collection: Collection,
    none: A,
    query: (statement: Prepare, table: string) => A,
  ): Either<StoreFailure, A> => {
    const attempt = (): Either<StoreFailure, A> =>
      database.read((statement) => {
        const table = tableOf(statement, collection)
        return table === undefined ? none : query(statement, table)
      })
    const first = attempt()
    // The table may have been replaced since its name was kept.
    return E.isLeft(first) && tables.delete(nameOf(collection)) ? attempt() : first
  }

  const prepare: Documents['prepare'] = (collection) => {
    const name = nameOf(collection)
    const begun = preparing.get(name) ?? create(collection).finally(() => preparing.delete(name))
    preparing.set(name, begun)
    return begun
  }

  const create = async (collection: Collection): Promise<Either<StoreFailure, void>> => {
    const found = database.read((statement) => ({
      table: tableOf(statement, collection),
      serial: statement<{ serial: number }>('SELECT max(rowid) + 1 AS serial FROM collections').get()?.serial ?? 1,
    }))
    if (found._tag === 'Left') return found
    if (found.right.table !== undefined) return E.right(undefined)
    const table = `${collection.name}@${collection.version}#${found.right.serial}`
    return written({ kind: 'schema', statements: creation(collection, table) })
  }

  const exists: Documents['exists'] = (collection) =>
    Promise.resolve(database.read((statement) => registered(statement, collection) !== undefined))

  const get: Documents['get'] = (collection, keys) =>
    Promise.resolve(
      reading<ReadonlyMap<string, Stored>>(collection, new Map(), (statement, table) => {
        const found = new Map<string, Stored>()
        const one = statement<StoredRow>(`SELECT position, body FROM "${table}" WHERE key = ?`)
        for (const key of keys) {
          const row = one.get(key)
          if (row !== undefined) found.set(key, storedOf(row))
        }
        return found
      }),
    )

  const find: Documents['find'] = (collection, query) =>
    Promise.resolve(
      reading<ReadonlyArray<Entry>>(collection, [], (statement, table) => {
        const { sql, values } = selection(table, fieldsOf(collection, query.index), query)
        return statement<Row>(sql)
          .all(...values)
          .map(entryOf)
      }),
    )

  const count: Documents['count'] = (collection, part) =>
    Promise.resolve(
      reading(collection, 0, (statement, table) => {
        const { where, values } =
          part === undefined
            ? { where: 'body IS NOT NULL', values: [] }
            : conditions(fieldsOf(collection, part.index), part)
        const sql = `SELECT count(*) AS documents FROM "${table}" WHERE ${where}`
        return statement<{ documents: number }>(sql).get(...values)?.documents ?? 0
      }),
    )

  async function* all(collection: Collection): AsyncGenerator<Entry> {
    let after = ''
    for (;;) {
      const page = reading<ReadonlyArray<Entry>>(collection, [], (statement, table) => {
        const sql = `SELECT key, body FROM "${table}" WHERE key > ? AND body IS NOT NULL ORDER BY key LIMIT ${pageSize}`
        return statement<Row>(sql).all(after).map(entryOf)
      })
      const entries = orThrow(page)
      yield* entries
      const last = entries.at(-1)
      if (last === undefined) return
      after = last.key
      await new Promise(setImmediate)
    }
  }

  const apply: Documents['apply'] = async (collection, changes, checkpoint) => {
    const table = database.read((statement) => tableOf(statement, collection))
    if (table._tag === 'Left') return table
    if (table.right === undefined) return E.left({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
    const columns = columnsOf(collection)
    const rows = changes.map((change) => rowOf(change, columns))
    return written({ kind: 'apply', table: table.right, columns, rows, checkpoint: Number(checkpoint) })
  }

  const checkpoint: Documents['checkpoint'] = (collection) =>
    Promise.resolve(database.read((statement) => BigInt(registered(statement, collection)?.checkpoint ?? 0)))

  const promote: Documents['promote'] = async (collection) => {
    const next = { ...collection, generation: 'next' } as const
    const found = database.read((statement) => ({
      fresh: registered(statement, next)?.table,
      others: statement<{ readonly table: string }>(
        'SELECT table_name AS "table" FROM collections WHERE name = ? AND NOT (version = ? AND generation = ?)',
      ).all(next.name, next.version, next.generation),
    }))
    if (found._tag === 'Left') return found
    const { fresh, others } = found.right
    if (fresh === undefined) return E.left({ kind: 'corrupt', reason: `${collection.name} has no next generation` })
    const statements = [
      ...indexing(collection, fresh),
      `DROP VIEW IF EXISTS "${collection.name}"`,
      ...others.flatMap(({ table }) => removal(table)),
      `UPDATE collections SET generation = 'live' WHERE table_name = '${fresh}'`,
      ...view(collection, fresh),
    ]
    const result = await written({ kind: 'schema', statements })
    tables.clear()
    return result
  }

  const drop: Documents['drop'] = async (collection) => {
    const found = database.read((statement) => ({
      table: registered(statement, collection)?.table,
      view: statement<{ readonly sql: string }>(`SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?`).get(
        collection.name,
      ),
    }))
    if (found._tag === 'Left') return found
    tables.delete(nameOf(collection))
    const { table, view: shown } = found.right
    if (table === undefined) return E.right(undefined)
    const hidden = shown?.sql.includes(`"${table}"`) === true ? [`DROP VIEW "${collection.name}"`] : []
    return written({ kind: 'schema', statements: [...hidden, ...removal(table)] })
  }

  return { prepare, exists, get, find, count, all, apply, checkpoint, promote, drop }
}

const nameOf = ({ name, version, generation }: Collection): string => `${name}@${version}/${generation}`

const registered = (prepare: Prepare, { name, version, generation }: Collection): Registered | undefined =>
  prepare<Registered>(
    'SELECT table_name AS "table", checkpoint FROM collections WHERE name = ? AND version = ? AND generation = ?',
  ).get(name, version, generation)

const columnsOf = ({ indexes }: Collection): ReadonlyArray<string> => [...new Set(Object.values(indexes).flat())]

/** The next generation gets its indexes when it is promoted: one that is filled in bulk is indexed fastest at the end. */
const creation = (collection: Collection, table: string): ReadonlyArray<string> => [
  `CREATE TABLE "${table}" (key TEXT NOT NULL UNIQUE, position INTEGER NOT NULL, body TEXT${columnsOf(collection)
    .map((column) => `, "${column}"`)
    .join('')})`,
  `INSERT INTO collections (name, version, generation, table_name, checkpoint)
   VALUES ('${collection.name}', ${collection.version}, '${collection.generation}', '${table}', 0)`,
  ...(collection.generation === 'live' ? [...indexing(collection, table), ...view(collection, table)] : []),
]

/** A document without the first field of an index stays out of it. */
const indexing = ({ indexes }: Collection, table: string): ReadonlyArray<string> =>
  Object.entries(indexes).map(([index, fields]) => {
    const columns = [...fields, 'key'].map((field) => `"${field}"`).join(', ')
    return `CREATE INDEX "${table}/${index}" ON "${table}" (${columns}) WHERE "${fields[0] ?? 'key'}" IS NOT NULL`
  })

const view = ({ name }: Collection, table: string): ReadonlyArray<string> => [
  `DROP VIEW IF EXISTS "${name}"`,
  `CREATE VIEW "${name}" AS SELECT key, position, body FROM "${table}" WHERE body IS NOT NULL`,
]

const removal = (table: string): ReadonlyArray<string> => [
  `DELETE FROM collections WHERE table_name = '${table}'`,
  `DROP TABLE "${table}"`,
]

const fieldsOf = ({ name, indexes }: Collection, index: string): ReadonlyArray<string> => {
  const fields = indexes[index]
  if (fields === undefined) throw new Error(`${name} has no index ${index}`)
  return fields
}

type Values = ReadonlyArray<string | number>

const conditions = (
  fields: ReadonlyArray<string>,
  { equals, from, upTo }: IndexPart,
): { readonly where: string; readonly values: Values } => {
  const order = `"${fields.at(-1) ?? 'key'}"`
  const all = [
    ...fields.slice(0, -1).map((field) => `"${field}" = ?`),
    `${order} IS NOT NULL`,
    ...(from === undefined ? [] : [`${order} >= ?`]),
    ...(upTo === undefined ? [] : [`${order} <= ?`]),
  ]
  return { where: all.join(' AND '), values: [...equals, ...[from, upTo].filter((bound) => bound !== undefined)] }
}

const selection = (
  table: string,
  fields: ReadonlyArray<string>,
  { after, descending = false, limit, ...part }: Query,
): { readonly sql: string; readonly values: Values } => {
  const order = `"${fields.at(-1) ?? 'key'}"`
  const direction = descending ? 'DESC' : 'ASC'
  const { where, values } = conditions(fields, part)
  const behind = after === undefined ? '' : ` AND (${order}, key) ${descending ? '<' : '>'} (?, ?)`
  const sql = `SELECT key, body FROM "${table}" WHERE ${where}${behind}
               ORDER BY ${order} ${direction}, key ${direction} LIMIT ?`
  return { sql, values: [...values, ...(after === undefined ? [] : [after.value, after.key]), limit] }
}

const rowOf = ({ key, document, position }: Change, columns: ReadonlyArray<string>): DocumentRow => [
  key,
  Number(position),
  document === undefined ? null : JSON.stringify(document),
  ...columns.map((column) => {
    const value = document?.[column]
    return typeof value === 'string' || typeof value === 'number' ? value : null
  }),
]

const storedOf = ({ position, body }: StoredRow): Stored => ({
  document: body === null ? undefined : (JSON.parse(body) as Json),
  position: BigInt(position),
})

const entryOf = ({ key, body }: Row): Entry => ({ key, document: JSON.parse(body) as Json })
