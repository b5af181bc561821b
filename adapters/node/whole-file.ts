import { rename, rm } from 'node:fs/promises'

/** A file that appears under its name when it is whole. Where `make` fails, nothing stays of it. */
export const wholeFile = async (file: string, make: (part: string) => Promise<void>): Promise<void> => {
  const part = `${file}.part`
  // What a process that was killed left would be gone on with, or another name taken beside it.
  await rm(part, { force: true })
  try {
    await make(part)
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
