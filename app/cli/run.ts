import { reasonOf } from '../../domain/failure-reason.js'
import { E, TE, type Either } from '../../domain/prelude.js'
import { configFrom, type Config } from '../composition/config.js'

const fail = (verb: string, sentences: ReadonlyArray<string>): void => {
  for (const sentence of sentences) process.stderr.write(`leadloop can't ${verb}. ${sentence}\n`)
  process.exitCode = 1
}

/** Runs a command with the settings of the environment; `work` gives a sentence where it fails. */
export const run = async (
  verb: string,
  work: (config: Config) => Promise<Either<string, undefined>>,
): Promise<void> => {
  const config = configFrom(process.env)
  if (E.isLeft(config)) {
    fail(verb, config.left)
    return
  }
  const done = await work(config.right)
  if (E.isLeft(done)) fail(verb, [done.left])
}

/**
 * As `reasonOf`, for the terminal: what the system refuses is told in its own words, which name a path or an address
 * and no value, and so is what DuckDB lacks of disk or memory.
 */
export const toldReason = (error: unknown): string => (isOfSystem(error) ? error.message : reasonOf(error))

const isOfSystem = (error: unknown): error is Error =>
  error instanceof Error && ('syscall' in error || 'erroredSysCall' in error || lacking.test(error.message))

/** Of a commit that fails DuckDB may tell values, but not where it can't write the file. */
const lacking = /^(IO Error: |Out of Memory Error: |TransactionContext Error: Failed to commit: Could not write file ")/

/** What a command does with the file that `--out` names. Left: one sentence. */
export const atOut = <A>(work: () => Promise<A>): Promise<Either<string, A>> =>
  TE.tryCatch(work, (error) => `--out: ${toldReason(error)}.`)()
