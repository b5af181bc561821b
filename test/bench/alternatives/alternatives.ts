import { performance } from 'node:perf_hooks'
import { openTemporaryDirectory } from '../../kit/temporary-directory.js'
import { arrivals } from '../arrivals.js'
import { startChild, type Child } from '../child.js'
import { closedLoop } from '../http-load.js'
import { leadRequest } from '../leads.js'
import { shown, type Row } from '../row.js'
import { addWebhook, nodeArguments, startMeasured, type Seeded } from '../seed.js'
import { median, medianOf, type Summary } from '../summary.js'
import { openTools } from '../tools.js'
import { startPostgresql, startRedis, type Database } from './databases.js'

/** Connections of the load. */
const connections = 64
/** Open requests to the receiver: what Leadloop allows one webhook. */
const openRequests = 8

type Load = { readonly rounds: number; readonly seconds: number }

/** Sends a load to one of them. */
type Send = (service: Child, firstSerial: number) => Promise<Summary & { readonly nextSerial: number }>

/** Of one round; `cpu`: milliseconds of processor for each lead, the load and the receiver aside. */
type Measured = Summary & { readonly cpu: number }

/** The same leads, by turns, on Leadloop and on what a user would put together instead. */
export const besideAlternatives = async (
  store: Seeded,
  load: Load,
  say: (text: string) => void,
): Promise<ReadonlyArray<Row>> => [...(await besideEmmett(store, load, say)), ...(await besideBullMq(store, load, say))]

const besideEmmett = async (store: Seeded, load: Load, say: (text: string) => void): Promise<ReadonlyArray<Row>> => {
  const directory = openTemporaryDirectory()
  const database = await startPostgresql(directory.path)
  if (database === undefined) {
    say('emmett is not measured: PostgreSQL is not installed')
    return []
  }
  const settings = { POSTGRESQL_URL: `postgresql://bench@127.0.0.1:${database.port}/postgres` }
  const service = await startMeasured(store.directory)
  const other = await startChild('dist/test/bench/alternatives/emmett-server.js', settings, nodeArguments)
  const request = leadRequest(store.path)
  const measured = await byTurns([service], [other, database], load, (asked, firstSerial) =>
    closedLoop({ port: asked.port, connections, request, expectedStatus: 200, seconds: load.seconds }, firstSerial),
  )
  for (const child of [service, other, database]) await child.stop()
  await directory.remove()
  return [rowOf('a lead accepted, with its read models, beside emmett on PostgreSQL', measured)]
}

const besideBullMq = async (store: Seeded, load: Load, say: (text: string) => void): Promise<ReadonlyArray<Row>> => {
  const directory = openTemporaryDirectory()
  const database = await startRedis(directory.path)
  if (database === undefined) {
    say('BullMQ is not measured: Redis is not installed')
    return []
  }
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const tools = await openTools(store.directory)
  await addWebhook(tools, store.accountId, `${receiver.url}/`, 'started')
  await tools.close()
  const settings = {
    REDIS_PORT: String(database.port),
    RECEIVER: `${receiver.url}/`,
    CONCURRENCY: String(openRequests),
  }
  const service = await startMeasured(store.directory)
  const other = await startChild('dist/test/bench/alternatives/bullmq-server.js', settings, nodeArguments)
  // Its first lead.
  await arrivals(receiver, 1)
  const request = leadRequest(store.path)
  const measured = await byTurns([service], [other, database], load, async (asked, firstSerial) => {
    const started = performance.timeOrigin + performance.now()
    const sent = { port: asked.port, connections, request, expectedStatus: 200, seconds: load.seconds }
    const answered = await closedLoop(sent, firstSerial)
    const count = answered.nextSerial - firstSerial
    const [, last] = (await arrivals(receiver, count)).at(-1) ?? ['', started]
    return { ...answered, perSecond: count / ((last - started) / 1000) }
  })
  for (const child of [service, other, receiver, database]) await child.stop()
  await directory.remove()
  return [rowOf('a lead enqueued and posted, beside BullMQ on Redis', measured)]
}

type ByTurns = { readonly ours: ReadonlyArray<Measured>; readonly theirs: ReadonlyArray<Measured> }

/** The first of each is asked, and all of its processes are counted. Leadloop is first in every other round. */
const byTurns = async (
  service: readonly [Child],
  other: readonly [Child, Database],
  { rounds }: Load,
  send: Send,
): Promise<ByTurns> => {
  const measured: { readonly ours: Array<Measured>; readonly theirs: Array<Measured> } = { ours: [], theirs: [] }
  let serial = 5_000_000
  const measure = async ([asked, ...more]: readonly [Child, ...ReadonlyArray<Database>]): Promise<Measured> => {
    const used = (): number => [asked, ...more].reduce((sum, { cpu }) => sum + cpu(), 0)
    const before = used()
    const { nextSerial, ...summary } = await send(asked, serial)
    const cpu = (used() - before) / (nextSerial - serial) / 1_000
    serial = nextSerial
    return { ...summary, cpu }
  }
  for (let round = 0; round <= rounds; round += 1) {
    const first = round % 2 === 0 ? await measure(service) : undefined
    const theirs = await measure(other)
    const ours = first ?? (await measure(service))
    // The first round warms up.
    if (round === 0) continue
    measured.ours.push(ours)
    measured.theirs.push(theirs)
  }
  return measured
}

/** The ratio is that of each round, so that what else the machine does meets both. */
const rowOf = (what: string, { ours, theirs }: ByTurns): Row => {
  const ratio = median(ours.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? Number.NaN)))
  const of = (rounds: ReadonlyArray<Measured>): string =>
    `${shown(medianOf(rounds))}, ${median(rounds.map(({ cpu }) => cpu)).toFixed(1)} ms of processor`
  return {
    measured: what,
    ours: of(ours),
    baseline: of(theirs),
    ratio: ratio.toFixed(2),
    goal: 'at least 1',
    met: ratio >= 1,
  }
}
