import { rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { besideAlternatives } from './alternatives/alternatives.js'
import { analysts } from './analysts.js'
import { measureDeliveries } from './deliver.js'
import { measureFind } from './find.js'
import { followUpRows } from './follow-up.js'
import { hotNumber } from './hot.js'
import { measureIdle } from './idle.js'
import { measureIntake } from './intake.js'
import { measureIsolation } from './isolation.js'
import { measureLarge } from './large.js'
import { measureLatency } from './latency.js'
import { besideNoise } from './noisy.js'
import { measureProfiles } from './profile.js'
import { measureRebuild } from './rebuild.js'
import { seed, settle, type Seeded } from './seed.js'
import { measureServerLeads } from './server-leads.js'
import { measureServerRebuild } from './server-rebuild.js'
import {
  measureAppends,
  measureBatches,
  measureDocuments,
  measureSubscription,
  eventStoreServer,
  isFerretDb,
} from './servers.js'
import { shown, type Row } from './row.js'
import { measureSoak, type SoakSample } from './soak.js'
import { measureAway, type Away } from './soak-away.js'
import type { Compared } from './summary.js'

/**
 * `npm run bench -- quick` does the same on less, to see that it works: its figures mean little. `npm run bench --
 * servers` measures the adapters of the servers alone, `npm run bench -- isolation` healthy webhooks beside bad ones, a
 * service at rest, and an account beside a noisy one (`noise` that alone, `noise servers` that on servers alone), `npm
 * run bench -- hot` one phone number with ever more leads, `npm run bench -- soak` a service that is killed once a
 * minute, at its end beside its first minute, and an hour's leads with a server away (`soak away` these alone), `npm
 * run bench -- large` starts and takeovers on a log of five million events, `npm run bench -- analysts` the commands
 * that read the log, `npm run bench -- follow-up` messages to leads, `npm run bench -- alternatives` what a user would
 * put together instead, `npm run bench -- profile` where the time goes.
 */
const quick = process.argv.includes('quick')
const rounds = quick ? 1 : 3
/** Of what differs more from round to round. */
const manyRounds = quick ? 1 : 7
const seconds = quick ? 1 : 5
const small = quick ? 500 : 6_250
const middle = quick ? 1_000 : 50_000
const large = quick ? 2_000 : 125_000
const backlog = quick ? 1_000 : 15_000
const mongoUrl = process.env['MONGODB_URL']

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const againstBaseline = (measured: string, { ours, theirs }: Pick<Compared, 'ours' | 'theirs'>, goal: number): Row => {
  const ratio = ours.perSecond / theirs.perSecond
  return {
    measured,
    ours: shown(ours),
    baseline: shown(theirs),
    ratio: ratio.toFixed(2),
    goal: `at least ${goal}`,
    met: ratio >= goal,
  }
}

const growth = (measured: string, few: Compared, many: Compared): Row => {
  const p99 = many.ours.p99 / few.ours.p99
  const memory = many.memory / few.memory
  return {
    measured: `${measured}, many events against few`,
    ours: `p99 ${many.ours.p99.toFixed(1)} ms, ${many.memory.toFixed(0)} MB`,
    baseline: `p99 ${few.ours.p99.toFixed(1)} ms, ${few.memory.toFixed(0)} MB`,
    ratio: `p99 ${p99.toFixed(2)}, memory ${memory.toFixed(2)}`,
    goal: 'at most 1.3',
    met: p99 <= 1.3 && memory <= 1.3,
  }
}

const stores: Array<Seeded> = []
const seeded = async (leads: number): Promise<Seeded> => {
  const store = await seed(leads)
  await settle(store.directory)
  stores.push(store)
  say(`seeded ${store.leads} leads, ${store.events} events`)
  return store
}

/** The service on the embedded store. */
const embedded = async (): Promise<ReadonlyArray<Row>> => {
  const few = await seeded(small)
  const some = await seeded(middle)
  const many = await seeded(large)
  const rebuilt = await measureRebuild(many, rounds)
  say('rebuilt')
  const intakeFew = await measureIntake(few, rounds, seconds)
  const findSome = await measureFind(some, rounds, seconds)
  const deliverFew = await measureDeliveries(few, manyRounds, backlog)
  say('measured the small store')
  const latency = await measureLatency(some, 200, quick ? 2 : 20)
  const findFew = await measureFind(few, rounds, seconds)
  const instead = await besideAlternatives(few, { rounds, seconds }, say)
  const intakeMany = await measureIntake(many, rounds, seconds)
  const findMany = await measureFind(many, rounds, seconds)
  const deliverMany = await measureDeliveries(many, manyRounds, backlog)

  return [
    againstBaseline('lead intake, 64 connections', intakeFew, 0.25),
    againstBaseline(`find by phone, 64 connections, ${some.leads} contacts`, findSome, 0.5),
    againstBaseline('started delivered and recorded, 64 open requests', deliverFew, 0.6),
    {
      measured: 'lead sent to webhook received, 200 leads/s',
      ours: shown(latency),
      baseline: '-',
      ratio: '-',
      goal: 'p99 at most 50 ms',
      met: latency.p99 <= 50,
    },
    {
      measured: 'disk for a new lead that one webhook takes',
      ours: `${(latency.diskPerLead / 1_000).toFixed(1)} kB`,
      baseline: '-',
      ratio: '-',
      goal: 'at most 12 kB',
      met: latency.diskPerLead <= 12_000,
    },
    {
      measured: `rebuild of all read models, ${many.events} events`,
      ours: `${rebuilt.ours.toFixed(0)} events/s`,
      baseline: `${rebuilt.theirs.toFixed(0)} events/s`,
      ratio: (rebuilt.ours / rebuilt.theirs).toFixed(2),
      goal: 'at least 30000 events/s',
      met: rebuilt.ours >= 30_000,
    },
    growth('lead intake', intakeFew, intakeMany),
    growth('find by phone', findFew, findMany),
    growth('started delivered', deliverFew, deliverMany),
    ...instead,
  ]
}

const slowness = (measured: string, { ours, theirs }: Pick<Compared, 'ours' | 'theirs'>, goal: number): Row => {
  const ratio = ours.p50 / theirs.p50
  return {
    measured,
    ours: shown(ours),
    baseline: shown(theirs),
    ratio: `p50 ${ratio.toFixed(1)}`,
    goal: `p50 at most ${goal}`,
    met: ratio <= goal,
  }
}

/** The adapters of the servers against their bare drivers. */
const servers = async (): Promise<ReadonlyArray<Row>> => {
  // The log of a named server holds what all of them write, and a rebuild reads it all.
  const rebuilt = await measureServerRebuild(rounds, quick ? 500 : 15_000)
  const share = rebuilt.ours / rebuilt.theirs
  const server = await eventStoreServer()
  const appends = await measureAppends(server.url, manyRounds, quick ? 1_000 : 20_000)
  const log = quick ? 5_000 : 100_000
  const subscription = await measureSubscription(server.url, rounds, log)
  const perBatch = await measureBatches(server.url, log)
  const { nowAndThen, oneByOne, atOnce } = await measureServerLeads(server.url, rounds, seconds)
  await server.stop()
  const rows = [
    slowness(
      'a lead now and then, EventStoreDB, beside an append now and then',
      { ours: nowAndThen.leads, theirs: nowAndThen.appends },
      6,
    ),
    slowness('leads one by one, EventStoreDB, beside appends', { ours: oneByOne.leads, theirs: oneByOne.appends }, 6),
    slowness('leads one by one, EventStoreDB, beside their calls', { ours: oneByOne.leads, theirs: oneByOne.calls }, 3),
    againstBaseline(
      'leads, EventStoreDB, 64 connections, beside appends',
      { ours: atOnce.leads, theirs: atOnce.appends },
      0.12,
    ),
    againstBaseline(
      'leads, EventStoreDB, 64 connections, beside their calls',
      { ours: atOnce.leads, theirs: atOnce.calls },
      0.5,
    ),
    againstBaseline('appends to EventStoreDB, 64 in flight', appends, 0.8),
    againstBaseline('catch-up subscription to EventStoreDB', subscription, 0.8),
    {
      measured: 'events in a batch of a projection that catches up',
      ours: perBatch.toFixed(0),
      baseline: '1',
      ratio: '-',
      goal: 'at least 50',
      met: perBatch >= 50,
    },
    {
      measured: `a start with empty documents on EventStoreDB, ${rebuilt.events} events, until nothing lags`,
      ours: `${rebuilt.ours.toFixed(0)} events/s`,
      baseline: `${rebuilt.theirs.toFixed(0)} events/s`,
      ratio: share.toFixed(2),
      goal: 'at least 0.3',
      met: share >= 0.3,
    },
  ]
  if (mongoUrl === undefined) {
    say('documents in MongoDB are not measured: set MONGODB_URL')
    return rows
  }
  const documents = await measureDocuments(mongoUrl, rounds, quick ? 2 : 4)
  return [...rows, againstBaseline('documents to MongoDB, batches of 500', documents, 0.8)]
}

/** What bad endpoints and what waits cost those that are well. */
const isolation = async (): Promise<ReadonlyArray<Row>> => {
  const load = { rounds, perSecond: 200 }
  const { alone, beset } = await measureIsolation(
    quick
      ? { ...load, healthy: 50, seconds: 2, backlog: 2_000, dueToBad: 1_000 }
      : { ...load, healthy: 1_000, seconds: 10, backlog: 30_000, dueToBad: 100_000 },
  )
  say('measured beside bad endpoints')
  const [retries, idleSeconds] = quick ? [10_000, 5] : [1_000_000, 60]
  const idle = await measureIdle(retries, idleSeconds)
  say('measured a service at rest')
  const grown = beset.latency.p99 - alone.latency.p99
  const ratio = beset.throughput / alone.throughput
  return [
    {
      measured: 'lead sent to webhook received, 200 leads/s, beside three bad endpoints',
      ours: shown(beset.latency),
      baseline: shown(alone.latency),
      ratio: `p99 ${grown < 0 ? '' : '+'}${grown.toFixed(1)} ms`,
      goal: 'p99 grows by at most 50 ms',
      met: grown <= 50,
    },
    {
      measured: 'posts to healthy webhooks at saturation, beside three bad endpoints',
      ours: `${beset.throughput.toFixed(0)}/s`,
      baseline: `${alone.throughput.toFixed(0)}/s`,
      ratio: ratio.toFixed(2),
      goal: 'at least 0.95',
      met: ratio >= 0.95,
    },
    {
      measured: `at rest with ${retries} retries pending`,
      ours: `${idle.memory.toFixed(0)} MB (${idle.memoryAtFirst.toFixed(0)} MB once read models were built), ${(idle.share * 100).toFixed(2)} % of a core`,
      baseline: '-',
      ratio: '-',
      goal: 'at most 512 MB and 2 %',
      met: Math.max(idle.memory, idle.memoryAtFirst) <= 512 && idle.share <= 0.02,
    },
    ...(await noise()),
  ]
}

/**
 * What an account costs its neighbours that does everything bad at once, on each kind of stores, or on servers alone.
 */
const noise = async (): Promise<ReadonlyArray<Row>> => {
  const load = quick ? { rounds, seconds: 2, due: 1_000 } : { rounds, seconds: 10, due: 100_000 }
  const isEmbeddedToo = !process.argv.includes('servers')
  const rows = isEmbeddedToo ? await besideNoise(load) : []
  if (isEmbeddedToo) say('measured beside a noisy account')
  if (mongoUrl === undefined) {
    say('beside a noisy account nothing is measured on servers: set MONGODB_URL')
    return rows
  }
  // With a thousand documents FerretDB, alone, answers some five of the queries that each attempt makes in a second.
  const due = (await isFerretDb(mongoUrl)) ? 100 : load.due
  return [...rows, ...(await besideNoise({ ...load, due }, mongoUrl))]
}

/** What ten minutes under load do to a service that is killed at the end of each. */
const soak = async (): Promise<ReadonlyArray<Row>> => {
  const [first, last] = await measureSoak(quick ? { lives: 3, seconds: 5 } : { lives: 10, seconds: 60 })
  const row = (what: string, of: (sample: SoakSample) => number, unit: string, most: number): Row => ({
    measured: `${what}, ${last.leads} leads`,
    ours: `${of(last).toFixed(1)} ${unit}`,
    baseline: `${of(first).toFixed(1)} ${unit}, ${first.leads} leads`,
    ratio: (of(last) / of(first)).toFixed(2),
    goal: `at most ${most}`,
    met: of(last) <= of(first) * most,
  })
  return [
    row('memory', ({ memory }) => memory, 'MB', 1.3),
    row('disk for a lead', ({ diskPerLead }) => diskPerLead, 'kB', 1.3),
    row('from a kill until it is ready', ({ readyAfter }) => readyAfter, 'ms', 2),
    row('longest lag of a follower, under load', ({ lag }) => lag + 1, 'positions', 2),
    ...(await away()),
  ]
}

/** What an hour's leads at 200 a second leave in the memory of a service one of whose servers is away. */
const away = async (): Promise<ReadonlyArray<Row>> => {
  if (mongoUrl === undefined) {
    say('leads with a server away are not measured: set MONGODB_URL')
    return []
  }
  const leads = Number(process.env['SOAK_LEADS'] ?? (quick ? 6_000 : 720_000))
  const row = async (server: Away, connections: number): Promise<Row> => {
    const { atFirst, most, atLast, perSecond } = await measureAway(server, leads, connections, mongoUrl)
    return {
      measured: `memory with ${server} away, ${leads} leads, ${perSecond.toFixed(0)}/s`,
      ours: `${atLast.toFixed(0)} MB, ${most.toFixed(0)} MB at most`,
      baseline: `${atFirst.toFixed(0)} MB after a twelfth of them`,
      ratio: (atLast / atFirst).toFixed(2),
      goal: 'at most 400 MB at the end',
      met: atLast <= 400,
    }
  }
  // Each lead waits for the silent log for three seconds: of 200 in a second 600 are open, and some more.
  return [await row('MongoDB', 64), await row('EventStoreDB', 640)]
}

/**
 * What a very long log and a million deliveries that are due cost a start, a takeover and whoever watches over the
 * service.
 */
const veryLarge = async (): Promise<ReadonlyArray<Row>> => {
  const few = { leads: 1_000, due: 20_000 }
  const some = quick ? { leads: 4_000, due: 20_000 } : { leads: 140_000, due: 20_000 }
  const many = quick ? { leads: 10_000, due: 40_000 } : { leads: 575_000, due: 1_000_000 }
  const measured = await measureLarge({ rounds, few, some, many, seconds: 2 }, say)
  const { events, takeover } = measured
  const row = (what: string, milliseconds: number, most: number, note = ''): Row => ({
    measured: what,
    ours: `${milliseconds.toFixed(0)} ms${note}`,
    baseline: '-',
    ratio: '-',
    goal: `at most ${most} ms`,
    met: milliseconds <= most,
  })
  const answer = (path: string, ofMany: number, ofFew: number): Row => ({
    measured: `${path}, ${many.due} deliveries due`,
    ours: `p50 ${ofMany.toFixed(1)} ms`,
    baseline: `p50 ${ofFew.toFixed(1)} ms, ${few.due} due`,
    ratio: (ofMany / ofFew).toFixed(2),
    goal: 'at most 1.5',
    met: ofMany <= ofFew * 1.5,
  })
  const ofLog = `${events} events`
  const onServers = measured.serverTakeover
  if (onServers === undefined) say('a takeover on servers is not measured: set MONGODB_URL')
  const ofSome = `${measured.some.events} events`
  return [
    row(`from a start until it is ready, after an orderly end, ${ofSome}`, measured.some.readyAfterStop, 2_000),
    row(`from a start until it is ready, after an orderly end, ${ofLog}`, measured.readyAfterStop, 3_000),
    row(`from a start until it is ready, after kill -9 under load, ${ofLog}`, measured.readyAfterKill, 3_000),
    row(`from kill -9 until the next process on the folder delivers, ${ofLog}`, measured.deliveredAfterKill, 10_000),
    // The leases let 6.5 s go by before a process counts as dead, and a second until its shards are taken.
    row(
      `what a takeover of all shards reads until its first request, at the ports, ${ofLog}`,
      takeover.milliseconds,
      2_500,
      `, ${takeover.events} events`,
    ),
    ...(onServers === undefined
      ? []
      : [row('from kill -9 until another process delivers for it, servers, small log', onServers, 10_000)]),
    answer('/metrics', measured.many.metrics, measured.few.metrics),
    answer('/health/ready', measured.many.health, measured.few.health),
  ]
}

/** The commands that read the log, beside bare reads of it. */
const forAnalysts = (): Promise<ReadonlyArray<Row>> =>
  quick
    ? analysts({ rounds, few: 500, many: 1_000, onServer: 500, seconds: 2 }, say)
    : analysts({ rounds, few: 40_000, many: 150_000, onServer: 15_000, seconds: 15 }, say)

/** What a user would put together instead of the service on the embedded store. */
const alternatives = async (): Promise<ReadonlyArray<Row>> =>
  besideAlternatives(await seeded(small), { rounds, seconds }, say)

const chosen = (): Promise<ReadonlyArray<Row>> => {
  if (process.argv.includes('soak')) return process.argv.includes('away') ? away() : soak()
  if (process.argv.includes('alternatives')) return alternatives()
  if (process.argv.includes('hot')) return hotNumber(quick)
  if (process.argv.includes('large')) return veryLarge()
  if (process.argv.includes('isolation')) return isolation()
  if (process.argv.includes('noise')) return noise()
  if (process.argv.includes('analysts')) return forAnalysts()
  if (process.argv.includes('follow-up')) return followUpRows({ quick, rounds }, say)
  return process.argv.includes('servers') ? servers() : embeddedAndServers()
}

const profile = async (): Promise<void> => {
  say(`\n${await measureProfiles(await seeded(small), { seconds: quick ? 2 : 20, backlog })}`)
}

const embeddedAndServers = async (): Promise<ReadonlyArray<Row>> => [...(await embedded()), ...(await servers())]

const table = async (): Promise<void> => {
  const rows = await chosen()
  const loads = loadavg().map((load) => load.toFixed(1))
  say(`\nmedians of ${rounds} rounds, or of ${manyRounds}; load average ${loads.join(', ')}\n`)
  say('| measured | Leadloop | baseline | ratio | goal | met |\n|---|---|---|---|---|---|')
  for (const row of rows) {
    say(`| ${row.measured} | ${row.ours} | ${row.baseline} | ${row.ratio} | ${row.goal} | ${row.met ? 'yes' : 'no'} |`)
  }
}

try {
  await (process.argv.includes('profile') ? profile() : table())
} finally {
  for (const { directory } of stores) rmSync(directory, { recursive: true, force: true })
}
