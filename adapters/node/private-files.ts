import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Makes the directory, which its owner alone may enter, and those above it, where they are not there. */
export const makePrivateDirectory = (directory: string): void => {
  if (existsSync(directory)) return
  mkdirSync(dirname(resolve(directory)), { recursive: true })
  try {
    // By itself: below a directory that takes none (/proc) the platform's recursive call never ends.
    mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    // Another process that starts at the same time made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Makes the file, which its owner alone may read, where it is not there: a directory that somebody else made, such as a
 * service manager, may be open to all. What it can't make it leaves to whoever opens it.
 */
export const makePrivateFile = (file: string): void => {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {
    // It is there already, or whoever opens it is told why it can't be.
  }
}
