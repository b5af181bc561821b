import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateDirectory } from './private-files.js'

/**
 * The secret in a file that only its owner may read; it is made where there is no such file, which is at the first
 * start.
 */
export const storedSecret = (file: string): { readonly secret: string; readonly isNew: boolean } => {
  if (existsSync(file)) return { secret: readFileSync(file, 'utf8').trim(), isNew: false }
  const secret = randomBytes(32).toString('base64url')
  makePrivateDirectory(dirname(file))
  // Written under another name first: a file that holds half a secret would lock its owner out.
  const unfinished = `${file}.${randomBytes(6).toString('hex')}.new`
  writeFileSync(unfinished, `${secret}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(unfinished, file)
    return { secret, isNew: true }
  } catch (error) {
    // Where processes start at the same time on one folder, all of them take the secret of the first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return { secret: readFileSync(file, 'utf8').trim(), isNew: false }
  } finally {
    rmSync(unfinished, { force: true })
  }
}
