import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A secret that was made at the first start and is kept in a file that only its owner reads (design, sections 2 and 8). */
export const keptSecret = (file: string): { readonly secret: string; readonly isNew: boolean } => {
  if (existsSync(file)) return { secret: readFileSync(file, 'utf8').trim(), isNew: false }
  const secret = randomBytes(32).toString('base64url')
  mkdirSync(dirname(file), { recursive: true })
  // A name that is there holds a whole secret: one that was half written would lock its owner out.
  const unfinished = `${file}.${randomBytes(6).toString('hex')}.new`
  writeFileSync(unfinished, `${secret}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(unfinished, file)
    return { secret, isNew: true }
  } catch (error) {
    // Of processes that start together on one folder, the first one's secret is everybody's.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return { secret: readFileSync(file, 'utf8').trim(), isNew: false }
  } finally {
    rmSync(unfinished, { force: true })
  }
}
