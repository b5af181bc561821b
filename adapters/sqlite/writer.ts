import Database from 'better-sqlite3'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { schema, schemaVersion } from './schema.js'
import type { AppendWrite, ApplyWrite, Write, WriteResult, WriterMessage } from './write.js'

/** Writes after which a commit takes no more: bounds how long the first of them waits. */
const maximalCommit = 512

/**
 * The writing thread: one connection, and one durable transaction for all writes of a message. A disk that flushes
 * blocks nobody else.
 */
const open = (file: string): ((writes: ReadonlyArray<Write>) => ReadonlyArray<WriteResult>) => {
  const database = new Database(file)
  if (Number(database.pragma('user_version', { simple: true })) > schemaVersion) throw new Error('NEWER_VERSION')
  database.pragma('journal_mode = WAL')
  // The driver reopens a WAL file as NORMAL, which would lose acknowledged writes in a power cut.
  database.pragma('synchronous = FULL')
  database.pragma('cache_size = -16384')
  database.exec(schema)
  // Written at every open, so that a disk which takes no writes is found out now.
  database.pragma(`user_version = ${schemaVersion}`)

  const lastRevision = database.prepare<[string], number>(
    'SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1',
  )
  lastRevision.pluck()
  const lastPosition = database.prepare<[], number | null>('SELECT max(position) FROM events')
  lastPosition.pluck()
  const following = database.prepare<[string, number, number], { id: string; position: number }>(
    'SELECT id, position FROM events WHERE stream = ? AND revision > ? ORDER BY revision LIMIT ?',
  )
  const insert = database.prepare(
    `INSERT INTO events (position, stream, revision, category, id, type, time, correlation_id, causation_id,
                         schema_version, actor, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const moveCheckpoint = database.prepare<[number, string, number]>(
    'UPDATE collections SET checkpoint = ? WHERE table_name = ? AND checkpoint < ?',
  )
  const upserts = new Map<string, Database.Statement<ReadonlyArray<unknown> & Array<unknown>>>()
  let head = lastPosition.get() ?? 0

  const append = ({ stream, category, expected, events }: AppendWrite): WriteResult => {
    const actual = lastRevision.get(stream) ?? -1
    if (actual !== expected) {
      const stored = actual > expected ? following.all(stream, expected, events.length) : []
      const last = stored.at(-1)
      const isRepeat = stored.length === events.length && stored.every(({ id }, index) => id === events[index]?.[0])
      return isRepeat && last !== undefined
        ? { kind: 'repeated', position: last.position, revision: expected + events.length }
        : { kind: 'conflict' }
    }
    let revision = expected
    for (const event of events) {
      head += 1
      revision += 1
      insert.run(head, stream, revision, category, ...event)
    }
    return { kind: 'appended', position: head, revision }
  }

  const apply = ({ table, columns, rows, checkpoint }: ApplyWrite): WriteResult => {
    if (rows.length > 0) {
      const upsert = upsertInto(table, columns)
      for (const row of rows) upsert.run(...row)
    }
    moveCheckpoint.run(checkpoint, table, checkpoint)
    return { kind: 'done' }
  }

  const upsertInto = (table: string, columns: ReadonlyArray<string>): Database.Statement => {
    const known = upserts.get(table)
    if (known !== undefined) return known
    const all = ['key', 'position', 'body', ...columns].map((name) => `"${name}"`)
    const statement = database.prepare(
      `INSERT INTO "${table}" (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})
       ON CONFLICT (key) DO UPDATE SET ${all
         .slice(1)
         .map((name) => `${name} = excluded.${name}`)
         .join(', ')}
       WHERE excluded.position > position`,
    )
    upserts.set(table, statement)
    return statement
  }

  const perform = (write: Write): WriteResult => {
    switch (write.kind) {
      case 'append':
        return append(write)
      case 'apply':
        return apply(write)
      case 'schema':
        upserts.clear()
        for (const statement of write.statements) database.exec(statement)
        return { kind: 'done' }
    }
  }

  const together = database.transaction((writes: ReadonlyArray<Write>) => writes.map(perform))
  const commit = (writes: ReadonlyArray<Write>): ReadonlyArray<WriteResult> => {
    try {
      return together.immediate(writes)
    } catch (error) {
      head = lastPosition.get() ?? 0
      const code = codeOf(error)
      // A write that is wrong in itself takes no other with it; a disk that fails, fails for all of them.
      const isWrong = code.startsWith('SQLITE_ERROR') || code.startsWith('SQLITE_CONSTRAINT')
      if (isWrong && writes.length > 1) return writes.flatMap((write) => commit([write]))
      return writes.map(() => ({ kind: 'failed', code }))
    }
  }
  return commit
}

const codeOf = (error: unknown): string =>
  error instanceof Database.SqliteError ? error.code : error instanceof Error ? error.message : 'unknown'

/** What came while the disk was busy goes into the same commit: the slower the disk, the more. */
const alsoWaiting = (): ReadonlyArray<Write> => {
  const writes: Array<Write> = []
  while (parentPort !== null && writes.length < maximalCommit) {
    const next = receiveMessageOnPort(parentPort) as { readonly message: ReadonlyArray<Write> } | undefined
    if (next === undefined) break
    writes.push(...next.message)
  }
  return writes
}

const { file } = workerData as { readonly file: string }
const post = (message: WriterMessage): void => parentPort?.postMessage(message)

try {
  const commit = open(file)
  parentPort?.on('message', (first: ReadonlyArray<Write>) => {
    post({ kind: 'results', results: commit([...first, ...alsoWaiting()]) })
  })
  post({ kind: 'ready' })
} catch (error) {
  post({ kind: 'unusable', code: codeOf(error) })
}
