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

/** A test, or whatever else has something to undo when it is over. */
export type Scope = Pick<ExecutionContext, 'teardown'>

/** The path of a directory that goes when `scope` is over. */
export const temporaryDirectory = (scope: Scope): string => {
  const { path, remove } = openTemporaryDirectory()
  scope.teardown(remove)
  return path
}
