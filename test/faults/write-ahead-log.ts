import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, readSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** The write-ahead log of an SQLite file, as its format description lays it out (sqlite.org/walformat.html). */
export type WriteAheadLog = {
  /** Where each frame begins, of those that were written since the log last began anew. */
  readonly frames: ReadonlyArray<number>
  readonly frameLength: number
  /** Offsets at which a transaction is whole, in order; the first one lies before all frames. */
  readonly commits: ReadonlyArray<number>
}

const headerLength = 32
const frameHeaderLength = 24

export const readWriteAheadLog = (file: string): WriteAheadLog => {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  if (bytes.length < headerLength) return { frames: [], frameLength: 0, commits: [] }
  const frameLength = frameHeaderLength + bytes.readUInt32BE(8)
  const salts = bytes.subarray(16, 24)
  const frames: Array<number> = []
  const commits = [headerLength]
  for (let at = headerLength; at + frameLength <= bytes.length; at += frameLength) {
    // Frames of an earlier turn still lie behind the newest: their salts tell.
    if (!bytes.subarray(at + 8, at + 16).equals(salts)) break
    frames.push(at)
    if (bytes.readUInt32BE(at + 4) > 0) commits.push(at + frameLength)
  }
  return { frames, frameLength, commits: commits.filter((end) => end <= (frames.at(-1) ?? 0) + frameLength) }
}

/**
 * How many frames of the log a checkpoint may have copied into the main file. They were flushed before, so no power cut
 * takes them away, and nothing can be said about a log that lacks them.
 */
export const framesCopied = (sharedMemory: string): number => {
  const bytes = Buffer.alloc(4)
  const file = openSync(sharedMemory, 'r')
  readSync(file, bytes, 0, 4, 128)
  closeSync(file)
  return bytes.readUInt32LE(0)
}

/** Copies what a backup of a live directory would hold; the log is cut off at `end`. */
export const copyDirectory = (from: string, to: string, end?: number): void => {
  mkdirSync(to, { recursive: true })
  for (const name of ['leadloop.db', 'leadloop.db-wal', 'secret-key']) {
    if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name))
  }
  if (end !== undefined) truncateSync(join(to, 'leadloop.db-wal'), end)
}
