import type { DuckDBConnection } from '@duckdb/node-api'
import { orderedQuery, partQuery, type Asked } from '../../analysis/tables/table-query.js'
import { stagesOf, type TableName } from '../../analysis/tables/tidy-tables.js'

/** Rows of a stage of which a part is made: what it groups and joins them by has to fit into the memory of DuckDB. */
const rowsOfPart = 50_000

/** Makes a table part by part, and hands `write` a query for its rows in their order. */
export const makeTable = async (
  connection: DuckDBConnection,
  name: TableName,
  asked: Asked,
  write: (query: string) => Promise<void>,
): Promise<void> => {
  const counts = stagesOf([name]).map((stage) => `(SELECT count(*) FROM staged.${stage})`)
  const counted = await connection.runAndReadAll(`SELECT greatest(${counts.join(', ')})`)
  const of = Math.ceil(Number(counted.getRows()[0]?.[0]) / rowsOfPart)
  for (let part = 0; part < Math.max(of, 1); part += 1) {
    const query = partQuery(name, asked, { part, of })
    await connection.run(part === 0 ? `CREATE TEMP TABLE made_rows AS ${query}` : `INSERT INTO made_rows ${query}`)
  }
  await write(orderedQuery(name, 'made_rows', asked))
  await connection.run('DROP TABLE made_rows')
}
