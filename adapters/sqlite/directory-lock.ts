import Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { E, type Either } from '../../domain/prelude.js'
import { makePrivateDirectory, makePrivateFile } from '../node/private-files.js'
import { codeOf, storeFailure, type OpenFailure } from './failure.js'

type DirectoryLock = { readonly release: () => void }

/**
 * Makes the directory if need be, and keeps other processes out of it. The lock is an exclusive transaction: the kernel
 * ends it however the process ends. It is on a file of its own, so that other programs can read the data meanwhile.
 */
export const lockDirectory = (directory: string): Either<OpenFailure, DirectoryLock> => {
  try {
    makePrivateDirectory(directory)
    if (!statSync(directory).isDirectory()) return unusable(directory, 'it is a file and no folder')
    const file = join(directory, 'lock.db')
    makePrivateFile(file)
    const lock = new Database(file, { timeout: 0 })
    try {
      // The pragma writes: the driver opens a file that can't be written for reading, and such a lock would exclude no
      // other process.
      lock.exec('BEGIN EXCLUSIVE; PRAGMA user_version = 1')
    } catch (error) {
      lock.close()
      throw error
    }
    return E.right({ release: () => lock.close() })
  } catch (error) {
    const code = codeOf(error)
    return code.startsWith('SQLITE_BUSY')
      ? E.left({ kind: 'in-use', reason: `another process is using ${directory}` })
      : unusable(directory, storeFailure(code).reason)
  }
}

const unusable = (directory: string, reason: string): Either<OpenFailure, never> =>
  E.left({ kind: 'unusable', reason: `${directory} can't be used: ${reason}` })
