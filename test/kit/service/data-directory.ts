import type { ExecutionContext } from 'ava'
import { removeStoresOf, storesOf } from '../stores/servers.js'
import { openTemporaryDirectory, type TemporaryDirectory } from '../temporary-directory.js'

/** A directory of a service; the stores that belong to it by configuration (see `storesOf`) are removed with it. */
export const openDataDirectory = (): TemporaryDirectory => {
  const { path, remove } = openTemporaryDirectory()
  return {
    path,
    remove: async () => {
      await remove()
      await removeStoresOf(path)
    },
  }
}

/** The path of a directory that goes with its stores when the test is over. */
export const dataDirectory = (t: ExecutionContext): string => {
  const { path, remove } = openDataDirectory()
  t.teardown(remove)
  return path
}

/** The same, for services in processes of their own, which have to be told where its stores are. */
export const dataDirectoryWithStores = async (t: ExecutionContext): Promise<string> => {
  const directory = dataDirectory(t)
  await storesOf(directory)
  return directory
}
