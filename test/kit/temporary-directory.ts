import type { ExecutionContext } from 'ava'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type TemporaryDirectory = { readonly path: string; readonly remove: () => Promise<void> }

export const openTemporaryDirectory = (): TemporaryDirectory => {
  const path = mkdtempSync(join(tmpdir(), 'leadloop-test-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** The path of a directory that goes when the test is over. */
export const temporaryDirectory = (t: ExecutionContext): string => {
  const { path, remove } = openTemporaryDirectory()
  t.teardown(remove)
  return path
}
