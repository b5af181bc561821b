import { EventStoreDBClient } from '@eventstore/db-client'
import Database from 'better-sqlite3'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { monotonicClock } from '../../adapters/node/monotonic-clock.js'
import { openLogReader } from '../../adapters/sqlite/log-reader.js'
import { neverAborted } from '../../domain/abortable.js'
import { beginning } from '../../domain/event.js'
import { categories, type Category } from '../../domain/events.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { besideExports } from './analysts-beside.js'
import { analystsLog, analystsLogOn } from './analysts-log.js'
import { runCommand, type Taken } from './command.js'
import type { Row } from './row.js'
import type { Seeded } from './seed.js'
import { bareSubscription, eventStoreServer } from './servers.js'
import { median } from './summary.js'
import { orFail } from './tools.js'

type Load = {
  readonly rounds: number
  /** Leads of the embedded stores: memory must not grow from one to the other. */
  readonly few: number
  readonly many: number
  /** Leads on EventStoreDB. */
  readonly onServer: number
  /** Of each load on lead intake. */
  readonly seconds: number
}

/** In MB, whatever the length of the log. */
const mostMemory = 400

/** What `leadloop attribution` reads. */
const attributed: ReadonlyArray<Category> = ['lead', 'engagement', 'remark', 'conversion_contact', 'marketing_source']

const names = ['replay', 'export', 'attribution'] as const
type Name = (typeof names)[number]

/**
 * What commands for analysts take beside a bare read of what they read, how much memory, and what they cost a service.
 */
export const analysts = async (
  { rounds, few, many, onServer, seconds }: Load,
  say: (text: string) => void,
): Promise<ReadonlyArray<Row>> => {
  const short = await analystsLog(few)
  const long = await analystsLog(many)
  say(`seeded ${short.events} and ${long.events} events`)
  try {
    const ofShort = await embeddedRows(short, rounds)
    const ofLong = await embeddedRows(long, rounds)
    say('measured the embedded store')
    const intake = await besideExports(long, rounds, seconds)
    say('measured lead intake beside exports')
    return [...ofShort, ...ofLong, intake, ...(await serverRows(onServer, rounds))]
  } finally {
    for (const { directory } of [short, long]) await rm(directory, { recursive: true, force: true })
  }
}

const embeddedRows = async ({ directory, events }: Seeded, rounds: number): Promise<ReadonlyArray<Row>> => {
  const settings = { DATA_DIR: directory }
  const scan = (): Promise<number> => Promise.resolve(rawScan(directory))
  const each = await againstBare(rounds, settings, {
    replay: scan,
    export: scan,
    attribution: () => scanOf(directory, attributed),
  })
  const goals = { replay: 0.2, export: 0.1, attribution: 0.3 }
  return names.flatMap((name) => rowsOf(name, `${events} events`, each[name], goals[name]))
}

const serverRows = async (leads: number, rounds: number): Promise<ReadonlyArray<Row>> => {
  const server = await eventStoreServer()
  const { directory, events } = await analystsLogOn(server.url, leads)
  const client = EventStoreDBClient.connectionString(server.url)
  const subscription = async (): Promise<number> => {
    const started = performance.now()
    await bareSubscription(client, categories, events)
    return (performance.now() - started) / 1000
  }
  const settings = { DATA_DIR: directory, EVENTSTORE_URL: server.url }
  const bare = { replay: subscription, export: subscription, attribution: subscription }
  const each = await againstBare(rounds, settings, bare)
  await client.dispose()
  await server.stop()
  await rm(directory, { recursive: true, force: true })
  return names.flatMap((name) => rowsOf(name, `${events} events on EventStoreDB`, each[name], 0.3))
}

type Against = { readonly ours: ReadonlyArray<Taken>; readonly theirs: ReadonlyArray<number> }

/** By turns; the first round warms up. */
const againstBare = async (
  rounds: number,
  settings: Readonly<Record<string, string>>,
  bare: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Readonly<Record<Name, Against>>> => {
  const measured = async (name: Name): Promise<Against> => {
    const ours: Array<Taken> = []
    const theirs: Array<number> = []
    for (let round = 0; round <= rounds; round += 1) {
      const seconds = await bare[name]()
      const { path, remove } = openTemporaryDirectory()
      const taken = await runCommand(name === 'export' ? [name, '--out', path] : [name], settings)
      await remove()
      if (round === 0 || taken === undefined) continue
      theirs.push(seconds)
      ours.push(taken)
    }
    return { ours, theirs }
  }
  return {
    replay: await measured('replay'),
    export: await measured('export'),
    attribution: await measured('attribution'),
  }
}

const rowsOf = (name: Name, ofLog: string, { ours, theirs }: Against, goal: number): ReadonlyArray<Row> => {
  const seconds = median(ours.map((one) => one.seconds))
  const bare = median(theirs)
  const memory = Math.max(...ours.map((one) => one.memory))
  const ratio = bare / seconds
  return [
    {
      measured: `\`${name}\`, ${ofLog}`,
      ours: `${seconds.toFixed(1)} s`,
      baseline: `${bare.toFixed(1)} s`,
      ratio: ratio.toFixed(2),
      goal: `at least ${goal}`,
      met: ratio >= goal,
    },
    {
      measured: `memory of \`${name}\`, ${ofLog}`,
      ours: `${memory.toFixed(0)} MB`,
      baseline: '-',
      ratio: '-',
      goal: `below ${mostMemory} MB`,
      met: memory < mostMemory,
    },
  ]
}

/** Seconds that the bare driver takes to read the log and to parse the data of each event. */
const rawScan = (directory: string): number => {
  const database = new Database(join(directory, 'leadloop.db'), { readonly: true })
  const started = performance.now()
  for (const row of database.prepare<[], { readonly data: string }>('SELECT * FROM events ORDER BY position').iterate())
    JSON.parse(row.data)
  const seconds = (performance.now() - started) / 1000
  database.close()
  return seconds
}

/** Seconds that the adapter takes to read the events of these categories. */
const scanOf = async (directory: string, wanted: ReadonlyArray<Category>): Promise<number> => {
  const { log, close } = orFail(openLogReader(directory, monotonicClock))
  const started = performance.now()
  for await (const _batch of log.history(beginning, wanted, neverAborted));
  const seconds = (performance.now() - started) / 1000
  await close()
  return seconds
}
