import { existsSync, mkdirSync } from 'node:fs'
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
