import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../service/settings.js'

/** What a program wrote, and how it ended. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs a script to its end in a process of its own: what differs of this environment is given, and undefined unsets. */
export const runProgram = async (
  script: URL,
  args: ReadonlyArray<string> = [],
  environment: Environment = {},
): Promise<Ended> => {
  const child = spawn(process.execPath, [fileURLToPath(script), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}
