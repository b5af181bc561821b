import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type TemporaryDirectory = { readonly path: string; readonly remove: () => Promise<void> }

export const temporaryDirectory = async (): Promise<TemporaryDirectory> => {
  const path = await mkdtemp(join(tmpdir(), 'leadloop-test-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}
