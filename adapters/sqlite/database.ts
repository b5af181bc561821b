import Database from 'better-sqlite3'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Write, WriteResult, WriterMessage } from './write.js'

/** One SQLite file: a writing connection in a thread of its own and a reading one here. */
export type SqliteDatabase = {
  /** Durable when it resolves. Writes that wait for the disk are committed together, in the order of the calls. */
  readonly write: (write: Write) => Promise<Either<StoreFailure, WriteResult>>
  /** Runs `query` on the reading connection, where each text is prepared once; what it throws becomes a failure. */
  readonly read: <A>(query: (prepare: Prepare) => A) => Either<StoreFailure, A>
  readonly close: () => Promise<void>
}

export type Prepare = <Row>(sql: string) => Database.Statement<Array<unknown>, Row>

/** Sentences for the operator. */
export type OpenFailure = { readonly kind: 'in-use' | 'unusable'; readonly reason: string }

type Waiting = { readonly write: Write; readonly settle: (result: Either<StoreFailure, WriteResult>) => void }

/** Writes that go to the writing thread before this turn of the loop ends, so that it begins while we go on. */
const earlyBatch = 16

export const openDatabase = async (directory: string): Promise<Either<OpenFailure, SqliteDatabase>> => {
  const lock = lockDirectory(directory)
  if (lock._tag === 'Left') return lock

  const file = join(directory, 'leadloop.db')
  const worker = new Worker(new URL('./writer.js', import.meta.url), { workerData: { file } })
  const ready = await firstMessage(worker)
  if (ready.kind === 'unusable') {
    await worker.terminate()
    lock.right.close()
    return E.left({ kind: 'unusable', reason: `${file} can't be used: ${storeFailure(ready.code).reason}` })
  }
  const reader = new Database(file)
  reader.pragma('query_only = ON')
  reader.pragma('cache_size = -16384')

  const statements = new Map<string, Database.Statement>()
  const prepare: Prepare = <Row>(sql: string) => {
    const known = statements.get(sql) ?? reader.prepare(sql)
    statements.set(sql, known)
    return known as Database.Statement<Array<unknown>, Row>
  }

  const waiting: Array<Waiting> = []
  /** Handed over, in the order in which the answers come. */
  const committing: Array<Waiting> = []
  let isScheduled = false
  /** Why nothing can be written any more. */
  let failure: StoreFailure | undefined
  let idle: (() => void) | undefined

  const handOver = (): void => {
    isScheduled = false
    if (waiting.length === 0) return
    const batch = waiting.splice(0)
    committing.push(...batch)
    worker.postMessage(batch.map(({ write }) => write))
  }
  const settle = (results: ReadonlyArray<WriteResult>): void => {
    committing.splice(0, results.length).forEach((one, index) => {
      const result = results[index]
      if (result === undefined || result.kind === 'failed')
        one.settle(E.left(storeFailure(result?.code ?? 'no result')))
      else one.settle(E.right(result))
    })
    if (waiting.length === 0 && committing.length === 0) idle?.()
  }
  worker.on('message', (message: WriterMessage) => {
    if (message.kind === 'results') settle(message.results)
  })
  /** Nothing can be written any more, and nobody is left waiting for it. */
  const end = (code: string): void => {
    failure ??= storeFailure(code)
    committing.push(...waiting.splice(0))
    settle(committing.map(() => ({ kind: 'failed', code })))
  }
  worker.on('error', (error) => end(error.name))
  worker.on('exit', () => end('the store is closed'))

  return E.right({
    write: (write) =>
      new Promise((settle) => {
        if (failure !== undefined) {
          settle(E.left(failure))
          return
        }
        waiting.push({ write, settle })
        if (waiting.length >= earlyBatch) handOver()
        else if (!isScheduled) {
          isScheduled = true
          setImmediate(handOver)
        }
      }),
    read: (query) => {
      try {
        return E.right(query(prepare))
      } catch (error) {
        return E.left(storeFailure(codeOf(error)))
      }
    },
    close: async () => {
      failure ??= storeFailure('the store is closed')
      if (waiting.length > 0 || committing.length > 0) await new Promise<void>((resolve) => (idle = resolve))
      await worker.terminate()
      reader.close()
      lock.right.close()
    },
  })
}

/**
 * A lock that the kernel lets go of however the process ends: an exclusive transaction on a file of its own, so that
 * readers of the data are not kept out.
 */
const lockDirectory = (directory: string): Either<OpenFailure, Database.Database> => {
  try {
    makeDirectory(directory)
    const lock = new Database(join(directory, 'lock.db'), { timeout: 0 })
    // Where the file can't be written the driver opens it for reading, and such a lock would hold nobody off.
    lock.exec('BEGIN EXCLUSIVE; PRAGMA user_version = 1')
    return E.right(lock)
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      return E.left({ kind: 'in-use', reason: `another process is using ${directory}` })
    }
    return E.left({ kind: 'unusable', reason: `${directory} can't be used: ${storeFailure(codeOf(error)).reason}` })
  }
}

/** The last step is made by itself: below a folder that takes none (/proc), the platform's recursive call never ends. */
const makeDirectory = (directory: string): void => {
  if (existsSync(directory)) return
  mkdirSync(dirname(resolve(directory)), { recursive: true })
  mkdirSync(directory, { mode: 0o700 })
}

const firstMessage = (worker: Worker): Promise<WriterMessage> =>
  new Promise((resolve) => {
    worker.once('message', resolve)
    worker.once('error', (error) => {
      resolve({ kind: 'unusable', code: error.name })
    })
  })

/** The code of an error, or its kind: a message may hold what was stored. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error ? String(error.code) : error.name
}

/** From the driver's codes to ours. */
const storeFailure = (code: string): StoreFailure => {
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return { kind: 'corrupt', reason: `the file is damaged (${code})` }
  }
  if (code === 'NEWER_VERSION') return { kind: 'corrupt', reason: 'a newer version of Leadloop wrote it' }
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return { kind: 'unavailable', reason: `the disk is full (${code})` }
  if (code.startsWith('SQLITE_READONLY') || code === 'EROFS' || code === 'EACCES') {
    return { kind: 'unavailable', reason: `the disk is read-only (${code})` }
  }
  if (['ENOENT', 'ENOTDIR', 'EEXIST'].includes(code)) {
    return { kind: 'unavailable', reason: `no folder can be made there (${code})` }
  }
  if (code.startsWith('SQLITE_IOERR')) return { kind: 'unavailable', reason: `the disk does not answer (${code})` }
  return { kind: 'unavailable', reason: `the store failed (${code})` }
}
