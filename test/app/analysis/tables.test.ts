import type { DuckDBConnection } from '@duckdb/node-api'
import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { columnsOf, tableNames } from '../../../app/analysis/tables/tidy-tables.js'
import { loadTables } from '../../../app/cli/analysis/load-tables.js'
import { neverAborted } from '../../../domain/abortable.js'
import { expectedTables, type Row } from '../../kit/domain/expected-tables.js'
import { eventfulHistory } from '../../kit/domain/histories.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { writeHistory } from '../../kit/domain/lively-history.js'

/** The rows of a table, with times as they are stored and whole numbers as numbers. */
const rowsOf = async (connection: DuckDBConnection, sql: string): Promise<ReadonlyArray<Row>> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJS().map(
    (row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => {
          if (value instanceof Date) return [name, value.toISOString()]
          return [name, typeof value === 'bigint' ? Number(value) : value]
        }),
      ) as Row,
  )

const byText = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))

test('at any moment the tables hold what was recorded by then, as the deciders make it of the events', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(fc.nat(1_000_000), fc.nat(1_500), async (seed, place) => {
      const history = eventfulHistory(seed)
      const store = await writeHistory(memoryEventStore(memoryLog()), history)
      const asOf = history[place]?.time
      const recorded = asOf === undefined ? history : history.filter(({ time }) => time <= asOf)
      const expected = expectedTables(recorded)
      const { connection, close } = await loadTables(store, { asOf, isPersonalShown: true }, neverAborted)
      try {
        for (const name of tableNames) {
          const rows = await rowsOf(connection, `FROM ${name}`)
          const columns = columnsOf(name, { isPersonalShown: true }).map(([column]) => column)
          const named = (expected[name] ?? []).map((row) =>
            Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
          )
          assert.deepEqual(byText(rows), byText(named), name)
        }
      } finally {
        await close()
      }
    }),
    { numRuns: 4 },
  )
})
