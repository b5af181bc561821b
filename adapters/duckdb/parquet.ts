import { openDuckDb } from './database.js'

/** A column's name, and its type in DuckDB's words, such as `BIGINT`. */
type Column = readonly [name: string, type: string]

/** Turns a file of JSON lines into a Parquet file with these columns; a JSON value in a VARCHAR column stays JSON text. */
export const parquetFromJsonLines = async (from: string, to: string, columns: ReadonlyArray<Column>): Promise<void> => {
  const { connection, close } = await openDuckDb(':memory:')
  const types = columns.map(([name, type]) => `${quoted(name)}: ${quoted(type)}`).join(', ')
  try {
    await connection.run(
      `COPY (SELECT * FROM read_json(${quoted(from)}, format = 'newline_delimited', columns = {${types}}))
       TO ${quoted(to)} (FORMAT parquet)`,
    )
  } finally {
    close()
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
