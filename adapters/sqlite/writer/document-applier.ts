import type Database from 'better-sqlite3'
import type { ApplyWrite, WriteResult } from './writer-protocol.js'

type Upsert = Database.Statement<ReadonlyArray<unknown> & Array<unknown>>

/** Applies changes to documents together with their checkpoint, within a transaction that others begin and end. */
export class DocumentApplier {
  readonly #database: Database.Database
  readonly #moveCheckpoint: Database.Statement<[number, string, number]>
  /** By table. */
  readonly #upserts = new Map<string, Upsert>()

  constructor(database: Database.Database) {
    this.#database = database
    this.#moveCheckpoint = database.prepare(
      'UPDATE collections SET checkpoint = ? WHERE table_name = ? AND checkpoint < ?',
    )
  }

  apply({ table, columns, rows, checkpoint }: ApplyWrite): WriteResult {
    if (rows.length > 0) {
      const upsert = this.#upsertInto(table, columns)
      for (const row of rows) upsert.run(...row)
    }
    this.#moveCheckpoint.run(checkpoint, table, checkpoint)
    return { kind: 'done' }
  }

  /** Prepares its statements anew: tables come and go. */
  schemaChanged(): void {
    this.#upserts.clear()
  }

  #upsertInto(table: string, columns: ReadonlyArray<string>): Upsert {
    const cached = this.#upserts.get(table)
    if (cached !== undefined) return cached
    const all = ['key', 'position', 'body', ...columns].map((name) => `"${name}"`)
    const updates = all.slice(1).map((name) => `${name} = excluded.${name}`)
    const upsert: Upsert = this.#database.prepare(
      `INSERT INTO "${table}" (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})
       ON CONFLICT (key) DO UPDATE SET ${updates.join(', ')}
       WHERE excluded.position > position`,
    )
    this.#upserts.set(table, upsert)
    return upsert
  }
}
