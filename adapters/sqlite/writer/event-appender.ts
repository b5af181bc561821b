import type Database from 'better-sqlite3'
import { boundLimit } from '../bound-limit.js'
import type { AppendAllWrite, AppendWrite, CheckpointWrite, TruncateWrite, WriteResult } from './writer-protocol.js'

/**
 * Appends events to the log, and saves how far its followers have come, within a transaction that others begin and end.
 */
export class EventAppender {
  readonly #lastRevision: Database.Statement<[string], number>
  readonly #lastPosition: Database.Statement<[], number | null>
  readonly #eventsAfter: Database.Statement<[string, number, number], { id: string; position: number }>
  readonly #insert: Database.Statement
  readonly #truncate: Database.Statement<[string, number, string, number]>
  readonly #moveCheckpoint: Database.Statement<[string, number]>
  #head: number

  constructor(database: Database.Database) {
    this.#lastRevision = database.prepare('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1')
    this.#lastRevision.pluck()
    this.#lastPosition = database.prepare('SELECT max(position) FROM events')
    this.#lastPosition.pluck()
    this.#eventsAfter = database.prepare(
      `SELECT id, position FROM events WHERE stream = ? AND revision > ? ORDER BY revision ${boundLimit}`,
    )
    this.#insert = database.prepare(
      `INSERT INTO events (position, stream, revision, category, id, type, time, correlation_id, causation_id,
                           schema_version, actor, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#truncate = database.prepare(
      `DELETE FROM events WHERE stream = ? AND revision < ?
         AND EXISTS (SELECT 1 FROM events WHERE stream = ? AND revision = ?)`,
    )
    this.#moveCheckpoint = database.prepare(
      `INSERT INTO checkpoints (follower, position) VALUES (?, ?)
       ON CONFLICT (follower) DO UPDATE SET position = max(position, excluded.position)`,
    )
    this.#head = this.#lastPosition.get() ?? 0
  }

  saveCheckpoint({ follower, position }: CheckpointWrite): WriteResult {
    this.#moveCheckpoint.run(follower, position)
    return { kind: 'done' }
  }

  truncate({ stream, before }: TruncateWrite): WriteResult {
    const { changes } = this.#truncate.run(stream, before, stream, before)
    return { kind: changes > 0 ? 'truncated' : 'done' }
  }

  append(append: AppendWrite): WriteResult {
    const { stream, expected, events } = append
    const actual = this.#lastRevision.get(stream) ?? -1
    if (actual !== expected) {
      const stored = actual > expected ? this.#eventsAfter.all(stream, expected, events.length) : []
      const last = stored.at(-1)
      const isRepeat = stored.length === events.length && stored.every(({ id }, index) => id === events[index]?.[0])
      return isRepeat && last !== undefined
        ? { kind: 'repeated', position: last.position, revision: expected + events.length }
        : { kind: 'conflict' }
    }
    const revision = this.#insertAll(append)
    return { kind: 'appended', position: this.#head, revision }
  }

  appendAll({ appends }: AppendAllWrite): WriteResult {
    const revisions = new Map<string, number>()
    for (const { stream, expected, events } of appends) {
      const actual = revisions.get(stream) ?? this.#lastRevision.get(stream) ?? -1
      if (actual !== expected) return { kind: 'conflict' }
      revisions.set(stream, expected + events.length)
    }
    for (const append of appends) this.#insertAll(append)
    return { kind: 'all-appended', position: this.#head }
  }

  /** Gives the revision of the last of them. */
  #insertAll({ stream, category, expected, events }: AppendWrite): number {
    let revision = expected
    for (const event of events) {
      this.#head += 1
      revision += 1
      this.#insert.run(this.#head, stream, revision, category, ...event)
    }
    return revision
  }

  /** Goes on from the log as it is: the transaction was rolled back. */
  rolledBack(): void {
    this.#head = this.#lastPosition.get() ?? 0
  }
}
