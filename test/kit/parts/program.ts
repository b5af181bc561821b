import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Variables of the environment; one that is undefined is unset. */
export type Environment = Readonly<Record<string, string | undefined>>

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** A program in a process of its own, which ends with this process at the latest. */
export type Launched = {
  readonly pid: number
  /** What it wrote so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves with the first group of `pattern` once it wrote that; with undefined where it ended before. */
  readonly said: (pattern: RegExp) => Promise<string | undefined>
  readonly exited: Promise<Exit>
  readonly signal: (signal: NodeJS.Signals) => void
}

/**
 * Of V8, for a program that ends soon: its own budgets are for what goes on for long. Newer Node refuses the flag for
 * the budget.
 */
const flags = [
  ...(process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []),
  '--min-semi-space-size=16',
]

/** The command that runs a script, and the first of its arguments. */
export const commandOf = (script: URL): readonly [string, ...ReadonlyArray<string>] => [
  process.execPath,
  ...flags,
  fileURLToPath(script),
]

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export const launch = (command: string, args: ReadonlyArray<string>, environment: Environment): Launched => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment })
  running.add(child)
  let [stdout, stderr] = ['', '']
  const outputs = [child.stdout.setEncoding('utf8'), child.stderr.setEncoding('utf8')]
  child.stdout.on('data', (text: string) => (stdout += text))
  child.stderr.on('data', (text: string) => (stderr += text))
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve({ code, signal })
    })
  })
  const said = (pattern: RegExp): Promise<string | undefined> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = (pattern.exec(stderr) ?? pattern.exec(stdout))?.[1]
        if (found === undefined) return
        for (const output of outputs) output.off('data', look)
        resolve(found)
      }
      for (const output of outputs) output.on('data', look)
      look()
      void exited.then(() => resolve(undefined))
    })
  return {
    pid: child.pid ?? Number.NaN,
    stdout: () => stdout,
    stderr: () => stderr,
    said,
    exited,
    signal: (signal) => void child.kill(signal),
  }
}

/** What a program wrote, and how it ended. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs a script to its end: what differs of this environment is given. */
export const runProgram = async (
  script: URL,
  args: ReadonlyArray<string> = [],
  environment: Environment = {},
): Promise<Ended> => {
  const [command, ...rest] = commandOf(script)
  const { exited, stdout, stderr } = launch(command, [...rest, ...args], { ...process.env, ...environment })
  const { code } = await exited
  return { code, stdout: stdout(), stderr: stderr() }
}
