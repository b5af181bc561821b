import { stringify } from 'csv-stringify/sync'
import { once } from 'node:events'
import { open, rename, rm } from 'node:fs/promises'
import { replacedFile, wholeFile } from '../../../adapters/node/whole-file.js'
import { replayedFields, type ReplayedEvent } from '../../analysis/replay.js'

export const replayFormats = ['jsonl', 'csv', 'parquet'] as const
export type ReplayFormat = (typeof replayFormats)[number]

/** Where a replay goes: batch by batch, no faster than it is taken. */
type ReplayOutput = {
  readonly write: (events: ReadonlyArray<ReplayedEvent>) => Promise<void>
  readonly end: () => Promise<void>
  /** Instead of `end`, where it failed: nothing stays of a file. */
  readonly discard: () => Promise<void>
}

/**
 * On standard output where no `file` is named; Parquet needs one. `isGrowing`: others read the file while it is
 * written.
 * @throws Error of the file system, where the file can't be written
 */
export const replayOutput = async (
  format: ReplayFormat,
  file: string | undefined,
  isGrowing: boolean,
): Promise<ReplayOutput> => {
  if (format === 'parquet') return parquetIn(file ?? 'replay.parquet')
  const lines = file === undefined ? standardOutput() : await (isGrowing ? growingFile(file) : fileOutput(file))
  return format === 'csv' ? csvTo(lines) : jsonLinesTo(lines)
}

type TextOutput = Pick<ReplayOutput, 'end' | 'discard'> & { readonly write: (text: string) => Promise<void> }

const standardOutput = (): TextOutput => ({
  write: async (text) => {
    if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
  },
  end: () => Promise.resolve(),
  discard: () => Promise.resolve(),
})

/** The file has its name from the beginning, and keeps what was written whatever comes. */
const growingFile = async (file: string): Promise<TextOutput> => {
  // Not a stream: one fails while nobody waits for it, which would end the process.
  const handle = await open(file, 'w')
  const end = (): Promise<void> => handle.close()
  return { write: (text) => handle.writeFile(text), end, discard: end }
}

/** The file has its name once it is whole. */
const fileOutput = async (named: string): Promise<TextOutput> => {
  const file = await replacedFile(named)
  if (file === undefined) return growingFile(named)
  const part = `${file}.part`
  const { write, end } = await growingFile(part)
  const remove = (): Promise<void> => rm(part, { force: true })
  return {
    write,
    end: async () => {
      await end()
      await rename(part, file).catch(async (error: unknown) => {
        await remove()
        throw error
      })
    },
    discard: async () => {
      await end().catch(() => undefined)
      await remove()
    },
  }
}

const jsonLinesTo = ({ write, ...rest }: TextOutput): ReplayOutput => ({
  write: (events) => write(events.map((event) => `${JSON.stringify(event)}\n`).join('')),
  ...rest,
})

/** RFC 4180; `data` is JSON text. */
const csvTo = async ({ write, discard, ...rest }: TextOutput): Promise<ReplayOutput> => {
  try {
    await write(stringify([[...replayedFields]]))
  } catch (error) {
    await discard()
    throw error
  }
  return {
    write: (events) => write(stringify(events.map((event) => ({ ...event, data: JSON.stringify(event.data) })))),
    discard,
    ...rest,
  }
}

/** Types in DuckDB's words. */
const types: { readonly [field in keyof ReplayedEvent]?: string } = {
  position: 'BIGINT',
  revision: 'BIGINT',
  at: 'TIMESTAMPTZ',
}

/** The lines are on the disk before they are turned into columns, so that memory does not grow with them. */
const parquetIn = async (file: string): Promise<ReplayOutput> => {
  // It is told at once where nothing can be written in the end.
  await replacedFile(file)
  const lines = `${file}.jsonl`
  const { write, end, discard } = jsonLinesTo(await fileOutput(lines))
  return {
    write,
    end: async () => {
      await end()
      const { parquetFromJsonLines } = await import('../../../adapters/duckdb/parquet.js')
      const columns = replayedFields.map((field) => [field, types[field] ?? 'VARCHAR'] as const)
      try {
        await wholeFile(file, (part) => parquetFromJsonLines(lines, part, columns))
      } finally {
        await rm(lines)
      }
    },
    discard,
  }
}
