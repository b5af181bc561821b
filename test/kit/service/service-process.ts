import test, { type ExecutionContext } from 'ava'
import type { Site } from '../network/http.js'
import type { Scope } from '../temporary-directory.js'
import { commandOf, launch, type Environment, type Launched } from '../parts/program.js'
import { settingsOf, storesOf } from '../stores/servers.js'
import { openDataDirectory } from './data-directory.js'
import { environmentOf } from './settings.js'

/**
 * The service in a process of its own, as an operator runs it: its log on standard output, what people are told on
 * standard error.
 */
export type ServiceProcess = Launched & {
  /** Where it listens; undefined when it ended before it did. */
  readonly listening: Promise<string | undefined>
  /** The whole lines of its log. */
  readonly logged: () => ReadonlyArray<LogLine>
}

export type LogLine = { readonly level: number; readonly msg: string; readonly [field: string]: unknown }

const main = commandOf(new URL('../../../app/main.js', import.meta.url))

/** Starts the service on `directory` and its stores. */
const launchService = (directory: string, environment: Environment = {}, largestFile?: number): ServiceProcess => {
  const [command, ...args] =
    largestFile === undefined
      ? main
      : (['bash', '--norc', '-c', `ulimit -S -f ${largestFile}; exec "$0" "$@"`, ...main] as const)
  const launched = launch(command, args, {
    PATH: process.env['PATH'],
    ...environmentOf(directory, { ...settingsOf(directory), ...environment }),
  })
  return {
    ...launched,
    listening: launched.said(/^Leadloop listens at (http:\S+?)[.,]?\s/m),
    logged: () =>
      launched
        .stdout()
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as LogLine),
  }
}

/**
 * Starts the service on `directory` and its stores, with settings that differ from the usual ones; whatever becomes of
 * the test, the process ends with it. It may write files of `largestFile` kB at most: a full disk that needs no root.
 */
export const startService = (
  scope: Scope,
  directory: string,
  environment?: Environment,
  largestFile?: number,
): ServiceProcess => {
  const service = launchService(directory, environment, largestFile)
  scope.teardown(() => killed(service))
  return service
}

/**
 * A service in a process of its own for a whole test file: what would bring it down fails the tests, not the runner.
 */
export const serviceProcessForFile = (): Site => {
  const directory = openDataDirectory()
  let started: { readonly service: ServiceProcess; readonly url: string } | undefined
  test.before(async () => {
    await storesOf(directory.path)
    const service = launchService(directory.path)
    started = { service, url: await addressOf(service) }
  })
  test.after.always(async () => {
    if (started !== undefined) await killed(started.service)
    await directory.remove()
  })
  return {
    get url() {
      if (started === undefined) throw new Error('the service runs inside tests only')
      return started.url
    },
  }
}

/** Where a start that must succeed listens. */
export const addressOf = async ({ listening, stderr }: ServiceProcess): Promise<string> => {
  const address = await listening
  if (address === undefined) throw new Error(`the service did not start: ${stderr()}`)
  return address
}

export const killed = async (service: ServiceProcess): Promise<void> => {
  service.signal('SIGKILL')
  await service.exited
}

/** Ends the service, which must end in order. */
export const stopped = async (
  t: ExecutionContext,
  service: ServiceProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> => {
  service.signal(signal)
  t.deepEqual(await service.exited, { code: 0, signal: null }, service.stderr())
}

/** How long a start may take to be refused, in milliseconds. */
const longestRefusal = 60_000

/**
 * Waits for the end of a start that must be refused: with a code for scripts and a sentence for people, without a
 * stack.
 */
export const isRefused = async (t: ExecutionContext, service: ServiceProcess, sentence: RegExp): Promise<void> => {
  const late = setTimeout(() => service.signal('SIGKILL'), longestRefusal)
  t.is(await service.listening, undefined, 'the start was not refused')
  t.deepEqual(await service.exited, { code: 1, signal: null }, 'the start hung')
  clearTimeout(late)
  t.regex(service.stderr(), /^leadloop can't start\. [^\n]+\.\n$/)
  t.regex(service.stderr(), sentence)
}
