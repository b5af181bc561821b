import Database from 'better-sqlite3'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { makePrivateFile } from '../../node/private-files.js'
import { codeOf, isRefusal, newerVersion } from '../failure.js'
import { overwritesSince, schema, schemaVersion } from '../schema.js'
import { DocumentApplier } from './document-applier.js'
import { EventAppender } from './event-appender.js'
import { renewViews } from './views.js'
import type { Write, WriteResult, WriterMessage } from './writer-protocol.js'

/** About how many writes one transaction takes at most: bounds how long the first of them waits. */
const mostInCommit = 512

/**
 * In bytes. Of a page of 4,096, SQLite's own size, the events of a lead leave a quarter empty, since the largest of
 * them fill nearly half of one. More than this saves little, and each write of a page takes it whole. A file that is
 * there already keeps its size.
 */
const pageSize = 8_192

/**
 * Pages of the write-ahead log (WAL) that are written back into the file at once. With more of them less is written,
 * and whoever writes meanwhile waits longer: with SQLite's own 1,000 the p99 of lead intake was a tenth longer.
 */
const pagesWrittenBack = 500

/** In bytes: twice what the WAL grows to before it is written back. */
const largestIdleWal = 2 * pagesWrittenBack * pageSize

const post = (message: WriterMessage): void => parentPort?.postMessage(message)

const openFile = (file: string): Database.Database => {
  // The write-ahead log takes its mode.
  makePrivateFile(file)
  const database = new Database(file)
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version > schemaVersion) throw newerVersion()
  database.pragma(`page_size = ${pageSize}`)
  database.pragma('journal_mode = WAL')
  // Without it the write-ahead log stays as large as it ever was, such as after an hour in which somebody read a
  // snapshot.
  database.pragma(`journal_size_limit = ${largestIdleWal}`)
  database.pragma('cache_size = -16384')
  // What is removed is overwritten, since it may be what somebody wants to be forgotten.
  database.pragma('secure_delete = ON')
  database.exec(schema)
  renewViews(database)
  // An older version left what it removed in pages that nothing uses any more.
  if (version > 0 && version < overwritesSince) {
    post({ kind: 'rewriting' })
    database.exec('VACUUM')
  }
  // Written at every open, so that a disk that takes no writes is found out now.
  database.pragma(`user_version = ${schemaVersion}`)
  return database
}

/** SQLite's words: `FULL` waits for the disk, `NORMAL` leaves the write-ahead log to the next commit that does. */
type Flush = 'FULL' | 'NORMAL'

type Commit = (writes: ReadonlyArray<Write>) => ReadonlyArray<WriteResult>

type Writer = {
  readonly commit: Commit
  /** Writes the WAL back into the file once it is long. SQLite does so within a commit, whose answer would wait. */
  readonly writeBackWal: () => void
}

/**
 * Events must outlive a power cut, and what was truncated must not come back in one: where the documents stand
 * elsewhere, the checkpoint of whoever truncated it has not fallen behind. Documents and checkpoints may fall behind
 * the log, and catch up with it.
 */
const flushOf = (writes: ReadonlyArray<Write>): Flush =>
  writes.some(({ kind }) => kind === 'append' || kind === 'append-all' || kind === 'truncate') ? 'FULL' : 'NORMAL'

/** The one writing connection: each commit is one transaction, and durable where it holds events. */
const openWriter = (file: string): Writer => {
  const database = openFile(file)
  database.pragma('wal_autocheckpoint = 0')
  const events = new EventAppender(database)
  const documents = new DocumentApplier(database)

  const execute = (write: Write): WriteResult => {
    switch (write.kind) {
      case 'append':
        return events.append(write)
      case 'append-all':
        return events.appendAll(write)
      case 'checkpoint':
        return events.saveCheckpoint(write)
      case 'truncate':
        return events.truncate(write)
      case 'apply':
        return documents.apply(write)
      case 'schema':
        documents.schemaChanged()
        for (const statement of write.statements) database.exec(statement)
        return { kind: 'done' }
      case 'purge':
        return notPurged
    }
  }
  const transaction = database.transaction((writes: ReadonlyArray<Write>) => writes.map(execute))
  let flush: Flush | undefined
  const commit: Commit = (writes) => {
    try {
      const wanted = flushOf(writes)
      if (flush !== wanted) {
        database.pragma(`synchronous = ${wanted}`)
        flush = wanted
      }
      const results = transaction.immediate(writes)
      return results.includes(notPurged) ? results.map((one) => (one === notPurged ? purged(database) : one)) : results
    } catch (error) {
      events.rolledBack()
      flush = undefined
      const code = codeOf(error)
      // A write that is wrong in itself fails alone, and the others are committed; a disk that fails, fails for all.
      const isWrong = isRefusal(code) || code.startsWith('SQLITE_ERROR')
      if (isWrong && writes.length > 1) return writes.flatMap((write) => commit([write]))
      return writes.map(() => ({ kind: 'failed', code }))
    }
  }
  return { commit, writeBackWal: () => writeBackWal(database) }
}

/** In pages of the WAL. */
type Wal = { readonly log: number; readonly checkpointed: number }

const writeBackWal = (database: Database.Database): void => {
  try {
    const [wal] = database.pragma('wal_checkpoint(NOOP)') as ReadonlyArray<Wal>
    if (wal === undefined) return
    const waiting = wal.log - wal.checkpointed
    // It begins anew once all of it is written back and nobody reads it: where a reader was in the way, ask more often.
    const isLong = wal.log >= 2 * pagesWrittenBack && waiting > 0
    if (waiting >= pagesWrittenBack || isLong) database.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // What is committed is safe in the WAL, and the next commit is followed by another try.
  }
}

/** It can be done between two transactions only. */
const notPurged: WriteResult = { kind: 'purged', isEmpty: false }

/**
 * Empties the write-ahead log, and gives up at once where somebody reads what stood there before: all writes would
 * wait.
 */
const purged = (database: Database.Database): WriteResult => {
  const timeout = Number(database.pragma('busy_timeout', { simple: true }))
  database.pragma('busy_timeout = 0')
  try {
    const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as ReadonlyArray<{ readonly busy: number }>
    return { kind: 'purged', isEmpty: result?.busy === 0 }
  } catch (error) {
    // It fails alone: the writes beside it are committed.
    return { kind: 'failed', code: codeOf(error) }
  } finally {
    database.pragma(`busy_timeout = ${timeout}`)
  }
}

/** What arrived while the disk was busy goes into the same commit: the slower the disk, the larger the commits. */
const alsoWaiting = (): ReadonlyArray<Write> => {
  const writes: Array<Write> = []
  while (parentPort !== null && writes.length < mostInCommit) {
    const next = receiveMessageOnPort(parentPort) as { readonly message: ReadonlyArray<Write> } | undefined
    if (next === undefined) break
    writes.push(...next.message)
  }
  return writes
}

const { file } = workerData as { readonly file: string }

try {
  const { commit, writeBackWal } = openWriter(file)
  parentPort?.on('message', (first: ReadonlyArray<Write>) => {
    post({ kind: 'results', results: commit([...first, ...alsoWaiting()]) })
    writeBackWal()
  })
  post({ kind: 'ready' })
} catch (error) {
  post({ kind: 'unusable', code: codeOf(error) })
}
