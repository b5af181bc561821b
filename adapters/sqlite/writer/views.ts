import type Database from 'better-sqlite3'

/**
 * Shows the live documents under their plain name, to any SQLite tool: what indexes are about in columns, all of it in
 * the body.
 */
export const viewOf = (name: string, table: string, columns: ReadonlyArray<string>): string => {
  const shown = ['key', 'position', ...columns, 'body'].map((column) => `"${column}"`).join(', ')
  return `CREATE VIEW "${name}" AS SELECT ${shown} FROM "${table}" WHERE body IS NOT NULL`
}

type Shown = { readonly name: string; readonly table: string; readonly sql: string }

/** Brings views up to date that an earlier version made: the tables behind them stay as they are. */
export const renewViews = (database: Database.Database): void => {
  const all = database
    .prepare<[], Shown>(
      `SELECT collections.name, table_name AS "table", sql FROM collections
       JOIN sqlite_schema ON type = 'view' AND sqlite_schema.name = collections.name
       WHERE instr(sql, '"' || table_name || '"') > 0`,
    )
    .all()
  for (const { name, table, sql } of all) {
    const view = viewOf(name, table, indexedColumnsOf(database, table))
    if (view === sql) continue
    database.transaction(() => database.exec(`DROP VIEW "${name}"; ${view}`))()
  }
}

const indexedColumnsOf = (database: Database.Database, table: string): ReadonlyArray<string> =>
  database
    .prepare<[string], string>(`SELECT name FROM pragma_table_info(?) WHERE name NOT IN ('key', 'position', 'body')`)
    .pluck()
    .all(table)
