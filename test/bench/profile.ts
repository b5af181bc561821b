import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { startChild, type Child } from './child.js'
import { drained, headOf, makeBacklog } from './deliver.js'
import { closedLoop } from './http-load.js'
import { findRequest, leadRequest } from './leads.js'
import { nodeArguments, startMeasured, type Seeded } from './seed.js'
import { openOnEventStoreDb } from './server-leads.js'
import { eventStoreServer } from './servers.js'
import { sharesIn } from './shares.js'

type Extent = { readonly seconds: number; readonly backlog: number }

type Shares = ReturnType<typeof sharesIn>

/** Where the main thread's time goes under each load of the table, as a table: a column for each load. */
export const measureProfiles = async (store: Seeded, { seconds, backlog }: Extent): Promise<string> => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const under = (load: (service: Child) => Promise<unknown>): Promise<Shares> =>
    profiled(async (profiling) => {
      const service = await startMeasured(store.directory, undefined, {}, profiling)
      await load(service)
      await service.stop()
    })
  const requests = (request: (serial: number) => string) => (service: Child) =>
    closedLoop({ port: service.port, connections: 64, request, expectedStatus: 200, seconds }, 1_000_000)
  const server = await eventStoreServer()
  const onEventStoreDb = async (profiling: ReadonlyArray<string>): Promise<void> => {
    const { service, path, close } = await openOnEventStoreDb(server.url, receiver, profiling)
    await requests(leadRequest(path))(service)
    await close()
  }
  try {
    const columns = new Map([
      ['lead intake', await under(requests(leadRequest(store.path)))],
      ['find by phone', await under(requests(findRequest(store.apiKey, store.leads)))],
    ])
    await makeBacklog(store, receiver, backlog)
    const head = headOf(store)
    columns.set('started delivered and recorded', await under(() => drained(store, backlog, head)))
    columns.set('rebuild', await profiled((profiling) => rebuild(store, profiling)))
    columns.set('lead intake and deliveries on EventStoreDB', await profiled(onEventStoreDb))
    return tableOf(columns)
  } finally {
    await server.stop()
    await receiver.stop()
  }
}

/** Runs a process of Node, which is to be given these arguments and has ended when `run` resolves. */
const profiled = async (run: (profiling: ReadonlyArray<string>) => Promise<unknown>): Promise<Shares> => {
  const { path: folder, remove } = openTemporaryDirectory()
  try {
    await run(['--cpu-prof', `--cpu-prof-dir=${folder}`])
    return sharesIn(ofMainThread(folder))
  } finally {
    await remove()
  }
}

/**
 * Threads are numbered from the main one on in the names of their files:
 * `CPU.<date>.<time>.<process>.<thread>.<file>.cpuprofile`.
 */
const ofMainThread = (folder: string): string => {
  const name = readdirSync(folder).find((file) => file.split('.')[4] === '0')
  if (name === undefined) throw new Error('there is no profile of the main thread')
  return join(folder, name)
}

const rebuild = ({ directory }: Seeded, profiling: ReadonlyArray<string>): Promise<unknown> =>
  promisify(execFile)(process.execPath, [...nodeArguments, ...profiling, 'dist/app/cli/leadloop.js', 'rebuild'], {
    env: { PATH: process.env['PATH'], DATA_DIR: directory },
  })

const tableOf = (columns: ReadonlyMap<string, ReturnType<typeof sharesIn>>): string => {
  const parts = [...new Set([...columns.values()].flatMap((shares) => [...shares.keys()]))]
  const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(' | ')} |`
  return [
    line(['share of the time of the main thread', ...columns.keys()]),
    line(['---', ...[...columns].map(() => '---')]),
    ...parts.map((part) => line([part, ...[...columns.values()].map((shares) => percent(shares.get(part) ?? 0))])),
  ].join('\n')
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
