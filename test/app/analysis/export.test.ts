import test, { type ExecutionContext } from 'ava'
import { parse } from 'csv-parse/sync'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDuckDb } from '../../../adapters/duckdb/database.js'
import { partQuery } from '../../../app/analysis/tables/table-query.js'
import { columnsOf, tableNames, type TableName } from '../../../app/analysis/tables/tidy-tables.js'
import { exportTables } from '../../../app/cli/analysis/export-files.js'
import type { ExportRequest } from '../../../app/cli/analysis/export-request.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { LogReader } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { readmeNamed, matches } from '../../readmes/readmes.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { openEventStoreDb } from '../../kit/stores/eventstoredb.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import { openTemporaryDirectory, temporaryDirectory } from '../../kit/temporary-directory.js'

const history = eventfulHistory(1)
const middle = Math.floor(history.length / 2)

const logOf = (events: History): Promise<LogReader> => writeHistory(memoryEventStore(memoryLog()), events)

/** Exports of the whole history, for tests that only look at them. */
const folders = { csv: openTemporaryDirectory(), parquet: openTemporaryDirectory() }

test.before(async () => {
  const log = await logOf(history)
  await exported(log, folders.csv.path)
  await exported(log, folders.parquet.path, { format: 'parquet' })
})

test.after.always(async () => {
  await folders.csv.remove()
  await folders.parquet.remove()
})

const exported = async (log: LogReader, folder: string, asked: Partial<ExportRequest> = {}): Promise<string> => {
  const done = await exportTables(log, { ...everything, folder, ...asked }, neverAborted)
  if (E.isLeft(done)) throw new Error(done.left)
  return folder
}

const everything: ExportRequest = {
  folder: '',
  format: 'csv',
  tables: tableNames,
  asOf: undefined,
  isPersonalShown: true,
  isContinued: false,
}

/** What each file of the tables holds; where the log ended is kept beside them. */
const bytesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => /\.(csv|parquet)$/.test(name))
      .map((name) => [name, readFileSync(join(folder, name), 'latin1')]),
  )

test.serial('an export of one history is the same bytes from the embedded store and from EventStoreDB', async (t) => {
  const sqlite = await openSqliteStores()
  t.teardown(sqlite.close)
  const { store } = await openEventStoreDb(t)
  const part = history.slice(0, 400)
  const [embedded, server] = [await writeHistory(sqlite.store, part), await writeHistory(store, part)]
  for (const format of ['csv', 'parquet'] as const) {
    const bytes = bytesIn(await exported(embedded, temporaryDirectory(t), { format }))
    t.deepEqual(Object.keys(bytes), tableNames.map((name) => `${name}.${format}`).toSorted())
    t.deepEqual(bytesIn(await exported(server, temporaryDirectory(t), { format })), bytes)
  }
})

test.serial(
  'an export does not go on where the log was set back to an older one, whatever has happened in that since',
  async (t) => {
    const folder = await exported(await logOf(history.slice(0, middle + 50)), temporaryDirectory(t))
    const older = history.slice(0, middle)
    const [first] = history.slice(middle)
    if (first === undefined) return t.fail('the history is too short')
    const again = Array.from({ length: 100 }, (_, n) => ({
      ...first,
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      stream: `account-set-back-${n}`,
      revision: 0,
    }))
    for (const setBack of [older, [...older, ...again] as History]) {
      const request = { ...everything, folder, isContinued: true }
      const done = await exportTables(await logOf(setBack), request, neverAborted)
      t.regex(E.isLeft(done) ? done.left : 'it went on', /before it was set back to an older copy/)
    }
  },
)

type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

/** By another program than the one that wrote it. */
const parquetOf = async (name: TableName): Promise<Rows> =>
  parquetReadObjects({ file: await asyncBufferFromFile(join(folders.parquet.path, `${name}.parquet`)) })

/** How JavaScript shows a value of Parquet that has the right type. */
const typeInParquet = {
  VARCHAR: 'string',
  TIMESTAMPTZ: 'Date',
  BIGINT: 'bigint',
  INTEGER: 'number',
  BOOLEAN: 'boolean',
}

const asText = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  return value === null || value === undefined ? '' : `${value as string | number | bigint | boolean}`
}

test('CSV, Parquet and DuckDB hold the same rows, each value in its type', async (t) => {
  const duckdb = await exported(await logOf(history), temporaryDirectory(t), { format: 'duckdb' })
  const { connection, close } = await openDuckDb(join(duckdb, 'leadloop.duckdb'))
  t.teardown(close)
  for (const name of tableNames) {
    const columns = columnsOf(name, { isPersonalShown: true })
    const rows = await parquetOf(name)
    t.true(rows.length > 10, name)
    for (const [column, type] of columns) {
      const types = new Set(
        rows.flatMap(({ [column]: value }) => {
          if (value === null || value === undefined) return []
          return [value instanceof Date ? 'Date' : typeof value]
        }),
      )
      t.deepEqual([...types], [typeInParquet[type]], `${name}.${column}`)
    }
    const texts = rows.map((row) => columns.map(([column]) => asText(row[column])))
    const header = columns.map(([column]) => column)
    t.deepEqual(parse(readFileSync(join(folders.csv.path, `${name}.csv`), 'utf8')), [header, ...texts], name)
    const described = (await connection.runAndReadAll(`DESCRIBE ${name}`)).getRowsJson()
    t.deepEqual(
      described.map(([column, type]) => [column, type === 'TIMESTAMP WITH TIME ZONE' ? 'TIMESTAMPTZ' : type]),
      columns.map(([column, type]) => [column, type]),
    )
    const stored = (await connection.runAndReadAll(`FROM ${name}`)).getRowsJS()
    t.deepEqual(
      stored.map((row) => row.map(asText)),
      texts,
      name,
    )
  }
})

test('a table that is made in parts holds the rows of one that is made at once', async (t) => {
  const { connection, close } = await openDuckDb(join(folders.csv.path, 'leadloop-staging.duckdb'))
  t.teardown(close)
  const rowsOf = async (name: TableName, of: number): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
    const parts = Array.from({ length: of }, (_, part) => partQuery(name, { isPersonalShown: true }, { part, of }))
    const rows = await Promise.all(
      parts.map(async (query) =>
        (await connection.runAndReadAll(query)).getRowsJson().map((row) => JSON.stringify(row)),
      ),
    )
    t.is(rows.filter(({ length }) => length > 0).length, of, name)
    return rows
  }
  for (const name of tableNames) {
    t.deepEqual((await rowsOf(name, 3)).flat().toSorted(), (await rowsOf(name, 1)).flat().toSorted(), name)
  }
})

/** Has an export's file open in a process of its own until its standard input ends. */
const holder = `
  const { openDuckDb } = await import(process.argv[1])
  await openDuckDb(process.argv[2])
  process.stdout.write('open')
  process.stdin.resume().once('end', () => process.exit(0))`

test('an export into a folder that another one writes into says so, and leaves what is there', async (t) => {
  const folder = temporaryDirectory(t)
  const log = await logOf(history.slice(0, 400))
  await exported(log, folder)
  const before = bytesIn(folder)
  const program = new URL('../../../adapters/duckdb/database.js', import.meta.url).href
  const file = join(folder, 'leadloop-staging.duckdb')
  const other = spawn(process.execPath, ['--input-type=module', '--eval', holder, program, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(other, 'exit')
  t.teardown(async () => {
    other.stdin.end()
    await ended
  })
  await once(other.stdout, 'data')
  for (const isContinued of [false, true]) {
    const done = await exportTables(log, { ...everything, folder, isContinued }, neverAborted)
    t.deepEqual(done, E.left('--out: another export writes into this folder.'))
  }
  t.deepEqual(bytesIn(folder), before)
})

test('rows stand in the order of their times, and then of their ids', async (t) => {
  const keys = {
    leads: ['submitted_at', 'lead_id'],
    contacts: ['created_at', 'contact_id'],
    engagements: ['started_at', 'engagement_id'],
    activities: ['at', 'activity_id'],
    conversions: ['converted_at', 'record_id'],
    touches: ['converted_at', 'record_id', 'submitted_at', 'lead_id'],
    sources: ['created_at', 'source_id'],
    deliveries: ['due_at', 'delivery_id'],
    messages: ['created_at', 'message_id'],
  }
  for (const name of tableNames) {
    const order = (await parquetOf(name)).map((row) => keys[name].map((key) => asText(row[key])).join(' '))
    t.deepEqual(order, order.toSorted(), name)
    t.is(new Set(order).size, order.length, name)
  }
})

/** Which columns lead to which table. */
const references = [
  ['leads', 'source_id', 'sources'],
  ['leads', 'contact_id', 'contacts'],
  ['leads', 'engagement_id', 'engagements'],
  ['contacts', 'first_source_id', 'sources', 'source_id'],
  ['engagements', 'lead_id', 'leads'],
  ['messages', 'contact_id', 'contacts'],
  ['messages', 'engagement_id', 'engagements'],
  ['messages', 'lead_id', 'leads'],
  ['messages', 'source_id', 'sources'],
  ['engagements', 'contact_id', 'contacts'],
  ['engagements', 'source_id', 'sources'],
  ['activities', 'engagement_id', 'engagements'],
  ['activities', 'lead_id', 'leads'],
  ['activities', 'contact_id', 'contacts'],
  ['activities', 'source_id', 'sources'],
  ['activities', 'record_id', 'conversions'],
  ['conversions', 'contact_id', 'contacts'],
  ['conversions', 'lead_id', 'leads'],
  ['conversions', 'source_id', 'sources'],
  ['conversions', 'engagement_id', 'engagements'],
  ['touches', 'record_id', 'conversions'],
  ['touches', 'lead_id', 'leads'],
  ['touches', 'contact_id', 'contacts'],
  ['touches', 'source_id', 'sources'],
  ['deliveries', 'contact_id', 'contacts'],
  ['deliveries', 'engagement_id', 'engagements'],
  ['deliveries', 'lead_id', 'leads'],
] as const

test('every key leads to a row of its table', async (t) => {
  for (const [from, column, to, key = column] of references) {
    const found = new Set((await parquetOf(to)).map((row) => row[key]))
    const named = (await parquetOf(from)).map((row) => row[column]).filter((value) => value !== null)
    t.true(named.length > 0, `${from}.${column}`)
    t.deepEqual(
      named.filter((value) => !found.has(value)),
      [],
      `${from}.${column}`,
    )
  }
})

test('an export as of a time is the one that was made then', async (t) => {
  const asOf = history[middle]?.time
  const then = history.filter(({ time }) => asOf !== undefined && time <= asOf)
  t.true(then.length > middle && then.length < history.length)
  const later = bytesIn(await exported(await logOf(history), temporaryDirectory(t), { asOf }))
  t.deepEqual(later, bytesIn(await exported(await logOf(then), temporaryDirectory(t))))
})

test('an export that goes on, even after it was broken off, is the one made at once', async (t) => {
  const store = memoryEventStore(memoryLog())
  const folder = temporaryDirectory(t)
  const continued = { isContinued: true }
  await exported(await writeHistory(store, history.slice(0, middle)), folder, continued)
  await writeHistory(store, history.slice(middle, -20))
  const stopping = new AbortController()
  const brokenOff = exportTables(store, { ...everything, ...continued, folder }, stopping.signal, () =>
    stopping.abort(),
  )
  await t.throwsAsync(brokenOff, { any: true })
  await exported(store, folder, continued)
  const read: Array<number> = []
  const counted: LogReader = {
    ...store,
    history: async function* (after, categories, signal) {
      for await (const batch of store.history(after, categories, signal)) {
        if (!categories.includes('account')) read.push(batch.events.length)
        yield batch
      }
    },
  }
  await exported(await writeHistory(counted as typeof store, history.slice(-20)), folder, continued)
  t.true(read.reduce((sum, count) => sum + count, 0) <= 20)
  t.deepEqual(bytesIn(folder), bytesIn(folders.csv.path))
  t.deepEqual(
    readdirSync(folder).filter((name) => !name.endsWith('.csv')),
    ['leadloop-staging.duckdb'],
  )
})

const refusal = async (t: ExecutionContext, log: LogReader, asked: Partial<ExportRequest>): Promise<string> => {
  const done = await exportTables(log, { ...everything, ...asked }, neverAborted)
  return E.isLeft(done) ? done.left : t.fail('nothing was refused')
}

test('an export goes on only as what it was, and a folder that is none is named', async (t) => {
  const log = await logOf(history.slice(0, middle))
  const folder = await exported(log, temporaryDirectory(t), { isPersonalShown: false })
  const before = bytesIn(folder)
  const asked = { folder, isContinued: true, isPersonalShown: false }
  const other = await logOf(history.filter(({ stream }) => stream !== history[0]?.stream))
  t.regex(await refusal(t, log, { ...asked, isPersonalShown: true }), /^--continue: .* without --personal\./)
  t.regex(await refusal(t, log, { ...asked, tables: ['leads'] }), /^--continue: .* --tables leads,contacts,/)
  t.regex(await refusal(t, other, asked), /^--continue: .* another log\./)
  t.deepEqual(bytesIn(folder), before)
  t.regex(await refusal(t, log, { folder: join(folder, 'leads.csv') }), /^--out: EEXIST/)
})

test('an export does not go on from what another version left in the folder', async (t) => {
  const log = await logOf(history.slice(0, middle))
  const folder = await exported(log, temporaryDirectory(t))
  const { connection, close } = await openDuckDb(join(folder, 'leadloop-staging.duckdb'))
  await connection.run('ALTER TABLE staged.progress DROP COLUMN columns')
  close()
  t.regex(await refusal(t, log, { folder, isContinued: true }), /^--continue: .* another version\. Without --continue/)
})

test('what the README shows in SQL runs on an export', async (t) => {
  const folder = temporaryDirectory(t)
  await exported(await logOf(history), join(folder, 'tables'), { format: 'parquet', isPersonalShown: false })
  const { connection, close } = await openDuckDb(':memory:')
  t.teardown(close)
  await connection.run(`SET file_search_path = '${folder}'`)
  const [block = ''] = matches(readmeNamed('app/analysis/README.md').text, /^```sql\n([\s\S]*?)^```$/gm)
  const queries = block.split(/;\n/).filter((query) => query.trim() !== '')
  t.true(queries.length > 2)
  for (const query of queries) t.true((await connection.runAndReadAll(query)).currentRowCount > 0, query)
})
