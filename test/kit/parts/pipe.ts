import type { ExecutionContext } from 'ava'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'

/** A pipe that has a name. Gives what reads all that was written to it so far, as far as that fits into it. */
export const openPipe = (t: ExecutionContext, file: string): (() => string) => {
  execFileSync('mkfifo', [file])
  // Also to be written to: else whoever opens it waits for the other.
  const descriptor = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(descriptor))
  const buffer = Buffer.alloc(65_536)
  return () => buffer.toString('utf8', 0, readSync(descriptor, buffer))
}
