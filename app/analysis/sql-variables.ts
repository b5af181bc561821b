import type { Instant } from '../../domain/instant.js'

/**
 * Statements that set variables of DuckDB, each to an expression in SQL. NULL needs its type: by itself it is an
 * integer.
 */
export const setVariables = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `SET VARIABLE ${name} = ${value};\n`)
    .join('')

export const sqlText = (text: string | undefined): string =>
  text === undefined ? 'NULL::VARCHAR' : `'${text.replaceAll("'", "''")}'`

export const sqlTime = (instant: Instant | undefined): string =>
  instant === undefined ? 'NULL::TIMESTAMPTZ' : `TIMESTAMPTZ '${instant}'`

export const sqlList = (items: ReadonlyArray<string>): string =>
  items.length > 2 ? `[\n  ${items.join(',\n  ')}\n]` : `[${items.join(', ')}]`
