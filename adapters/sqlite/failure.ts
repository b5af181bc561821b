import type { StoreFailure } from '../../domain/ports.js'

/** Why a directory can't be opened, in a sentence for the operator. */
export type OpenFailure = { readonly kind: 'in-use' | 'unusable'; readonly reason: string }

const newerVersionCode = 'NEWER_VERSION'

/** The file was written by a newer version of Leadloop. */
export const newerVersion = (): Error => Object.assign(new Error(newerVersionCode), { code: newerVersionCode })

/** Of the system: a binary can't be loaded. */
const noBinaryCode = 'ERR_DLOPEN_FAILED'

/**
 * The code of an error, or else its name, as text that can pass from thread to thread. A message may hold what was
 * stored.
 */
export const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  if ('code' in error) return String(error.code)
  // What looks for the driver's binary in many places names them where it finds none.
  return 'tries' in error ? noBinaryCode : error.name
}

/** The write is wrong in itself: repeating it gives the same, whatever the disk does. */
export const isRefusal = (code: string): boolean =>
  code.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_MISMATCH' || code === 'SQLITE_TOOBIG'

/** The one place where codes of the driver and of the system become failures of the port. */
export const storeFailure = (code: string): StoreFailure => {
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return { kind: 'corrupt', reason: `the file is damaged (${code})` }
  }
  if (isRefusal(code)) return { kind: 'corrupt', reason: `the database refuses it (${code})` }
  if (code === newerVersionCode) return { kind: 'corrupt', reason: 'a newer version of Leadloop wrote it' }
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return { kind: 'unavailable', reason: `the disk is full (${code})` }
  if (code === 'EROFS') return { kind: 'unavailable', reason: `the disk is read-only (${code})` }
  if (code.startsWith('SQLITE_READONLY')) {
    return { kind: 'unavailable', reason: `the disk is read-only, or this user may not write the file (${code})` }
  }
  if (code.startsWith('SQLITE_CANTOPEN') || code === 'EACCES' || code === 'EPERM') {
    const reason = 'this user can open or make no file there, such as where the folder is of another user'
    return { kind: 'unavailable', reason: `${reason} (${code})` }
  }
  if (['ENOENT', 'ENOTDIR', 'EEXIST'].includes(code)) {
    return { kind: 'unavailable', reason: `no folder can be made there (${code})` }
  }
  if (code === noBinaryCode) {
    const reason = 'better-sqlite3 has no binary for this version of Node, which `npm ci` installs'
    return { kind: 'unavailable', reason: `${reason} (${code})` }
  }
  if (code.startsWith('SQLITE_IOERR')) return { kind: 'unavailable', reason: `the disk does not answer (${code})` }
  return { kind: 'unavailable', reason: `the store failed (${code})` }
}
