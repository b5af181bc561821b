import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { launch } from '../../kit/parts/program.js'

/** A server of a database on a loopback port, with its data in a folder. */
export type Database = {
  readonly port: number
  /** Processor time used so far, in microseconds, over all its processes. */
  readonly cpu: () => number
  readonly stop: () => Promise<void>
}

/** Undefined where Redis is not installed. Each write is on the disk before it is answered. */
export const startRedis = async (folder: string): Promise<Database | undefined> => {
  const program = programIn(onPath(), 'redis-server')
  if (program === undefined) return undefined
  const port = await freePort()
  const durable = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always']
  const where = ['--dir', folder, '--bind', '127.0.0.1', '--port', String(port)]
  return started(program, [...where, ...durable], port, /(Ready to accept connections)/)
}

/** Undefined where PostgreSQL is not installed. Its defaults wait for the disk at each commit. */
export const startPostgresql = async (folder: string): Promise<Database | undefined> => {
  // Debian puts what makes a database beside the versions alone.
  const program = programIn([...onPath(), ...debianVersions()], 'initdb')
  if (program === undefined) return undefined
  const data = join(folder, 'postgresql')
  mkdirSync(data)
  const asRoot = process.getuid?.() === 0
  // It refuses to run as root.
  const owner = asRoot ? ['--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  const command = (name: string, ...args: ReadonlyArray<string>): readonly [string, ...ReadonlyArray<string>] =>
    asRoot ? ['setpriv', ...owner, name, ...args] : [name, ...args]
  if (asRoot) execFileSync('chown', ['postgres:', folder, data])
  const [make, ...how] = command(program, '-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8')
  execFileSync(make, how, { stdio: 'ignore' })
  const port = await freePort()
  const where = ['-D', data, '-c', 'listen_addresses=127.0.0.1', '-c', `port=${port}`, '-c', 'unix_socket_directories=']
  const [run, ...args] = command(join(program, '..', 'postgres'), ...where)
  return started(run, args, port, /(ready to accept connections)/)
}

const started = async (
  program: string,
  args: ReadonlyArray<string>,
  port: number,
  ready: RegExp,
): Promise<Database> => {
  const { pid, said, signal, exited, stdout, stderr } = launch(program, args, { PATH: process.env['PATH'] })
  if ((await said(ready)) === undefined) throw new Error(`${program} ended: ${stdout()}${stderr()}`)
  return {
    port,
    cpu: () => cpuOf(pid),
    stop: async () => {
      // PostgreSQL ends its connections at this signal.
      signal('SIGINT')
      await exited
    },
  }
}

/** Of a process, its children and those that have ended. */
const cpuOf = (pid: number): number =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ name, fields: statOf(name) }))
    .filter(({ name, fields }) => name === String(pid) || fields[1] === String(pid))
    .flatMap(({ fields }) => fields.slice(11, 15))
    .reduce((sum, ticks) => sum + Number(ticks) * 10_000, 0)

/**
 * From the state on: what stands before it is a name, with whatever letters. Nothing of a process that has just ended.
 */
const statOf = (pid: string): ReadonlyArray<string> => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}

const onPath = (): ReadonlyArray<string> => (process.env['PATH'] ?? '').split(delimiter)

const debianVersions = (): ReadonlyArray<string> => {
  const all = '/usr/lib/postgresql'
  return existsSync(all) ? readdirSync(all).map((version) => join(all, version, 'bin')) : []
}

const programIn = (folders: ReadonlyArray<string>, name: string): string | undefined =>
  folders.map((folder) => join(folder, name)).find((path) => existsSync(path))

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
