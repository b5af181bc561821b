import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * What a whole file is to replace: where a link leads to. Undefined where something else than a file stands, such as a
 * pipe or `/dev/stdout`: it is written to, and nothing takes its place.
 * @throws Error of the file system, where no file can stand there: a folder does, or there is none to hold it
 */
export const replacedFile = async (file: string): Promise<string | undefined> => {
  const stats = await stat(file).catch(() => undefined)
  if (stats === undefined) {
    await stat(dirname(file))
    return file
  }
  // The system says why, in the words that it has for whoever would write into a folder.
  if (stats.isDirectory()) await (await open(file, 'r+')).close()
  return stats.isFile() ? realpath(file) : undefined
}

/** A file that appears under its name when it is whole. Where `make` fails, nothing stays of it. */
export const wholeFile = async (file: string, make: (part: string) => Promise<void>): Promise<void> => {
  const replaced = await replacedFile(file)
  if (replaced === undefined) return make(file)
  const part = `${replaced}.part`
  // What a process that was killed left would be gone on with, or another name taken beside it.
  await rm(part, { force: true })
  try {
    await make(part)
    await rename(part, replaced)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
