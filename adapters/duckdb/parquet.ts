import { openDuckDb } from './database.js'
import { textLiteral } from './text-literal.js'

/** A column's name, and its type in DuckDB's words, such as `BIGINT`. */
type Column = readonly [name: string, type: string]

/**
 * Turns a file of JSON lines into a Parquet file with these columns; a JSON value in a VARCHAR column stays JSON text.
 */
export const parquetFromJsonLines = async (from: string, to: string, columns: ReadonlyArray<Column>): Promise<void> => {
  const { connection, close } = await openDuckDb(':memory:')
  const types = columns.map(([name, type]) => `${textLiteral(name)}: ${textLiteral(type)}`).join(', ')
  try {
    await connection.run(
      `COPY (SELECT * FROM read_json(${textLiteral(from)}, format = 'newline_delimited', columns = {${types}}))
       TO ${textLiteral(to)} (FORMAT parquet)`,
    )
  } finally {
    close()
  }
}
