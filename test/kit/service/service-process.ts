import type { ExecutionContext } from 'ava'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeStoresOf, settingsOf, storesOf } from '../stores/servers.js'

/** The service in a process of its own, as an operator runs it. */
export type ChildService = {
  readonly pid: number
  /** Where it listens; undefined when it ended before it did. */
  readonly listening: Promise<string | undefined>
  readonly exited: Promise<Exit>
  /** What it said to people, on standard error. */
  readonly said: () => string
  /** Its log so far. */
  readonly logged: () => ReadonlyArray<LogLine>
  readonly signal: (signal: NodeJS.Signals) => void
}

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export type LogLine = { readonly level: number; readonly msg: string; readonly [field: string]: unknown }

export type StartOptions = {
  readonly port?: number
  readonly logLevel?: string
  /** The largest file that the process may write, in kB: a full disk that needs no root. */
  readonly largestFile?: number
  /** Settings besides these. */
  readonly environment?: Readonly<Record<string, string>>
}

export const operatorKey = 'the-operator-key-of-the-fault-tests'

const main = fileURLToPath(new URL('../../../app/main.js', import.meta.url))

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts the service on `directory` and its stores; whatever becomes of the test, the process ends with it. */
export const startService = (
  t: ExecutionContext,
  directory: string,
  { port = 0, logLevel = 'error', largestFile, environment = {} }: StartOptions = {},
): ChildService => {
  const [command, ...args] =
    largestFile === undefined
      ? ([process.execPath, main] as const)
      : (['bash', '--norc', '-c', `ulimit -S -f ${largestFile}; exec '${process.execPath}' '${main}'`] as const)
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: directory,
      OPERATOR_KEY: operatorKey,
      ALLOW_PRIVATE_WEBHOOKS: 'true',
      LOG_LEVEL: logLevel,
      ...settingsOf(directory),
      ...environment,
    },
  })
  running.add(child)

  let said = ''
  let logged = ''
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve({ code, signal })
    })
  })
  const listening = new Promise<string | undefined>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const address = /^Leadloop listens at (\S+)/m.exec(said)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('close', () => {
      resolve(undefined)
    })
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    logged += text
  })
  const signal = (name: NodeJS.Signals): void => {
    child.kill(name)
  }
  t.teardown(async () => {
    signal('SIGKILL')
    await exited
  })

  return {
    pid: child.pid ?? Number.NaN,
    listening,
    exited,
    said: () => said,
    logged: () =>
      logged
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as LogLine),
    signal,
  }
}

/** The address of a start that must succeed. */
export const addressOf = async (t: ExecutionContext, service: ChildService): Promise<string> => {
  const address = await service.listening
  if (address === undefined) return t.fail(`the service did not start: ${service.said()}`)
  return address
}

export const killed = async (service: ChildService): Promise<void> => {
  service.signal('SIGKILL')
  await service.exited
}

/** How long a start may take to be refused. */
const patience = 10_000

/** Waits for the end of a start that must be refused: with a code for scripts and a sentence for people, without a stack. */
export const isRefused = async (t: ExecutionContext, service: ChildService, sentence: RegExp): Promise<void> => {
  const late = setTimeout(() => service.signal('SIGKILL'), patience)
  t.is(await service.listening, undefined, 'the start was not refused')
  t.deepEqual(await service.exited, { code: 1, signal: null }, 'the start hung')
  clearTimeout(late)
  t.regex(service.said(), /^leadloop can't start\. [^\n]+\.\n$/)
  t.regex(service.said(), sentence)
}

/** A directory that goes when the test is over. */
export const temporaryDirectory = (t: ExecutionContext): string => {
  const directory = mkdtempSync(join(tmpdir(), 'leadloop-faults-'))
  t.teardown(() => {
    rmSync(directory, { recursive: true, force: true })
  })
  return directory
}

/** A directory with the stores that belong to it by configuration: see `storesOf`. */
export const directoryWithStores = async (t: ExecutionContext): Promise<string> => {
  const directory = temporaryDirectory(t)
  t.teardown(() => removeStoresOf(directory))
  await storesOf(directory)
  return directory
}
