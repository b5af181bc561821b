import Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { join } from 'node:path'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { lockDirectory } from './directory-lock.js'
import { codeOf, storeFailure, type OpenFailure } from './failure.js'
import { openWriteQueue, type WriteQueue } from './writer/write-queue.js'

/**
 * One SQLite file: a connection that reads, and one that writes in a thread of its own, so that no flush of the disk
 * blocks the event loop.
 */
export type SqliteDatabase = {
  readonly write: WriteQueue['write']
  /**
   * Runs `query` on the reading connection, where each text that is in use is prepared once; what it throws becomes a
   * failure.
   */
  readonly read: <A>(query: (prepare: Prepare) => A) => Either<StoreFailure, A>
  /** Whether no byte of what was removed is left in the files; tries to make it so. */
  readonly purge: () => Promise<Either<StoreFailure, boolean>>
  readonly close: () => Promise<void>
}

export type Prepare = <Row>(sql: string) => Database.Statement<Array<unknown>, Row>

export const databaseFile = (directory: string): string => join(directory, 'leadloop.db')

/**
 * Statements that are cached at most. Some hundred are in use; those on the table of a read model that was built anew
 * are of no use any more, and each has some kB outside the heap.
 */
const mostStatements = 500

export const readingOn = (connection: Database.Database): SqliteDatabase['read'] => {
  const statements = new LRUCache<string, Database.Statement>({
    max: mostStatements,
    memoMethod: (sql) => connection.prepare(sql),
  })
  const prepare: Prepare = <Row>(sql: string) => statements.memo(sql) as Database.Statement<Array<unknown>, Row>
  return (query) => {
    try {
      return E.right(query(prepare))
    } catch (error) {
      return E.left(storeFailure(codeOf(error)))
    }
  }
}

/** `onRewriting`: called before the file of an older version is rewritten, which may take minutes. */
export const openDatabase = async (
  directory: string,
  onRewriting: () => void = () => undefined,
): Promise<Either<OpenFailure, SqliteDatabase>> => {
  const lock = lockDirectory(directory)
  if (E.isLeft(lock)) return lock
  const file = databaseFile(directory)
  const opened = await openWriteQueue(file, onRewriting)
  if (E.isLeft(opened)) {
    lock.right.release()
    return E.left({ kind: 'unusable', reason: `${file} can't be used: ${opened.left.reason}` })
  }
  const queue = opened.right
  const reader = new Database(file)
  reader.pragma('query_only = ON')
  reader.pragma('cache_size = -16384')
  return E.right({
    write: queue.write,
    read: readingOn(reader),
    purge: async () => {
      const done = await queue.write({ kind: 'purge' })
      return E.isLeft(done) ? done : E.right(done.right.kind === 'purged' && done.right.isEmpty)
    },
    close: async () => {
      await queue.close()
      reader.close()
      lock.right.release()
    },
  })
}
