import Database from 'better-sqlite3'
import { existsSync } from 'node:fs'
import type { LogReader, MonotonicClock } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { databaseFile, readingOn } from './database.js'
import { sqliteLog } from './event-log.js'
import { codeOf, newerVersion, storeFailure, type OpenFailure } from './failure.js'
import { schemaVersion } from './schema.js'

/** In milliseconds, between two looks for what was appended: nobody tells another process. */
const pollInterval = 200

/**
 * The log in this directory, for a process beside the service, which may run or not. It changes nothing of the log and
 * keeps no service from starting; beside a service that has stopped SQLite makes its two empty files of the write-ahead
 * log.
 */
export const openLogReader = (
  directory: string,
  { sleep }: Pick<MonotonicClock, 'sleep'>,
): Either<OpenFailure, { readonly log: LogReader; readonly close: () => Promise<void> }> => {
  const file = databaseFile(directory)
  if (!existsSync(file)) return unusable(`there is no ${file}`)
  const opened = openForReading(file)
  if (E.isLeft(opened)) return unusable(`${file} can't be read: ${opened.left}`)
  const { head, history, read } = sqliteLog({ read: readingOn(opened.right) })

  const subscribe: LogReader['subscribe'] = async function* (after, categories, signal) {
    const isAborted = (): boolean => signal.aborted
    let position = after
    while (!isAborted()) {
      for await (const batch of history(position, categories, signal)) {
        position = batch.position
        yield batch
        if (isAborted()) return
      }
      await sleep(pollInterval, signal)
    }
  }
  const log: LogReader = { read, history, subscribe, head: () => Promise.resolve(head()) }
  const close = (): Promise<void> => {
    opened.right.close()
    return Promise.resolve()
  }
  return E.right({ log, close })
}

const unusable = (reason: string): Either<OpenFailure, never> => E.left({ kind: 'unusable', reason })

const openForReading = (file: string): Either<string, Database.Database> => {
  try {
    const connection = new Database(file, { readonly: true })
    if (Number(connection.pragma('user_version', { simple: true })) > schemaVersion) throw newerVersion()
    return E.right(connection)
  } catch (error) {
    return E.left(storeFailure(codeOf(error)).reason)
  }
}
