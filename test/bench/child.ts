import { readFileSync } from 'node:fs'
import { launch } from '../kit/parts/program.js'

/** A process of this benchmark's own. */
export type Child = {
  readonly url: string
  readonly port: number
  /** Processor time used so far, in microseconds, over all threads. */
  readonly cpu: () => number
  /** Resident memory in MB. */
  readonly memory: () => number
  readonly stop: () => Promise<void>
  /** Ends it as a crash would. */
  readonly kill: () => Promise<void>
}

/** Starts a script of dist/ and waits until it says `http://127.0.0.1:<port>`. */
export const startChild = async (
  script: string,
  environment: Readonly<Record<string, string>>,
  nodeArguments: ReadonlyArray<string> = [],
): Promise<Child> => {
  const { pid, said, stderr, signal, exited } = launch(process.execPath, [...nodeArguments, script], {
    PATH: process.env['PATH'],
    ...environment,
  })
  const url = await said(/(http:\/\/127\.0\.0\.1:\d+)\D/)
  if (url === undefined) throw new Error(`${script} ended: ${stderr()}`)
  const end = async (how: NodeJS.Signals): Promise<void> => {
    signal(how)
    await exited
  }
  return {
    url,
    port: Number(new URL(url).port),
    cpu: () => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')
      return (Number(fields[13]) + Number(fields[14])) * 10_000
    },
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}
