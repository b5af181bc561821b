import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import type { Child } from './child.js'
import { startChild } from './child.js'
import { drained, makeBacklog } from './deliver.js'
import { closedLoop } from './http-load.js'
import { findRequest, leadRequest } from './leads.js'
import { nodeArguments, startMeasured, type Seeded } from './seed.js'
import { sharesIn } from './shares.js'

type Extent = { readonly seconds: number; readonly backlog: number }

/** Where the main thread's time goes under each load of the table, as a table: a column for each load. */
export const measureProfiles = async (store: Seeded, { seconds, backlog }: Extent): Promise<string> => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const under = async (load: (service: Child) => Promise<unknown>): Promise<ReturnType<typeof sharesIn>> => {
    const folder = openTemporaryDirectory().path
    const service = await startMeasured(store.directory, undefined, {}, profiling(folder))
    await load(service)
    await service.stop()
    return sharesIn(ofMainThread(folder))
  }
  const requests = (request: (serial: number) => string) => (service: Child) =>
    closedLoop({ port: service.port, connections: 64, request, expectedStatus: 200, seconds }, 1_000_000)
  try {
    const columns = new Map([
      ['lead intake', await under(requests(leadRequest(store.path)))],
      ['find by phone', await under(requests(findRequest(store.apiKey, store.leads)))],
    ])
    await makeBacklog(store, receiver, backlog)
    columns.set('started delivered and recorded', await under(() => drained(store, backlog)))
    columns.set('rebuild', await profiledRebuild(store))
    return tableOf(columns)
  } finally {
    await receiver.stop()
  }
}

const profiling = (folder: string): ReadonlyArray<string> => ['--cpu-prof', `--cpu-prof-dir=${folder}`]

/** Threads are numbered from the main one on in the names of their files: `CPU.<date>.<time>.<process>.<thread>.<file>.cpuprofile`. */
const ofMainThread = (folder: string): string => {
  const name = readdirSync(folder).find((file) => file.split('.')[4] === '0')
  if (name === undefined) throw new Error('there is no profile of the main thread')
  return join(folder, name)
}

const profiledRebuild = async ({ directory }: Seeded): Promise<ReturnType<typeof sharesIn>> => {
  const folder = openTemporaryDirectory().path
  const command = [...nodeArguments, ...profiling(folder), 'dist/app/cli/leadloop.js', 'rebuild']
  await promisify(execFile)(process.execPath, command, { env: { PATH: process.env['PATH'], DATA_DIR: directory } })
  return sharesIn(ofMainThread(folder))
}

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
