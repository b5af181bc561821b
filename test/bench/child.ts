import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A process of this benchmark's own. */
export type Child = {
  /** What it has said on standard error so far. */
  readonly words: () => string
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Processor time used so far, in microseconds, over all threads. */
  readonly cpu: () => number
  /** Resident memory in MB. */
  readonly memory: () => number
  readonly stop: () => Promise<void>
  /** Ends it as a crash would. */
  readonly kill: () => Promise<void>
}

/** Starts a script of dist/ and waits until it says `http://127.0.0.1:<port>`. */
export const startChild = (
  script: string,
  environment: Readonly<Record<string, string>>,
  nodeArguments: ReadonlyArray<string> = [],
): Promise<Child> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...nodeArguments, script], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = new Promise<void>((end) => child.once('exit', () => end()))
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      child.kill(signal)
      await ended
    }
    let words = ''
    child.stderr.on('data', (chunk: Buffer) => {
      words += chunk.toString('utf8')
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(words)?.[1]
      if (port === undefined || child.pid === undefined) return
      const status = `/proc/${child.pid}/status`
      resolve({
        words: () => words,
        url: `http://127.0.0.1:${port}`,
        port: Number(port),
        pid: child.pid,
        cpu: () => {
          const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ')
          return (Number(fields[13]) + Number(fields[14])) * 10_000
        },
        memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1] ?? Number.NaN) / 1024,
        stop: () => end('SIGTERM'),
        kill: () => end('SIGKILL'),
      })
    })
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code ?? 'a signal'}: ${words}`)))
  })
