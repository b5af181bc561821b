import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { operatorKey } from '../kit/service/settings.js'
import { nodeArguments } from './seed.js'

/** What a command took, from its start to its end; memory in MB, at its most. */
export type Taken = { readonly seconds: number; readonly memory: number }

type Settings = Readonly<Record<string, string>>

/**
 * Runs a command of `leadloop` in a process of its own, as the package's `bin` does; what it writes to standard output
 * goes nowhere. Undefined where `signal` told it to end.
 * @throws Error where it fails
 */
export const runCommand = async (
  command: ReadonlyArray<string>,
  settings: Settings,
  signal?: AbortSignal,
): Promise<Taken | undefined> => {
  const started = performance.now()
  const measured = ['--import', './dist/test/bench/tell-memory.js']
  const child = spawn(process.execPath, [...nodeArguments, ...measured, 'dist/app/cli/leadloop.js', ...command], {
    env: { PATH: process.env['PATH'] ?? '', OPERATOR_KEY: operatorKey, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  signal?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (signal?.aborted === true) return undefined
  const seconds = (performance.now() - started) / 1000
  const kilobytes = /held at most (\d+) kB/.exec(words)?.[1]
  if (code !== 0 || kilobytes === undefined)
    throw new Error(`${command.join(' ')} ended with ${code ?? 'a signal'}: ${words}`)
  return { seconds, memory: Number(kilobytes) / 1024 }
}
