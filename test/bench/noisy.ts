import { performance } from 'node:perf_hooks'
import type { Sending } from '../kit/load/loaded-account.js'
import { noiseOf, openNoisyAccount, poison, type Noise, type NoisyAccount } from '../kit/load/noise.js'
import { having } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { testDatabase } from '../kit/stores/mongodb.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { arrivals, arrivalsAt } from './arrivals.js'
import { startChild, type Child } from './child.js'
import { closedLoop, openLoop, requestText } from './http-load.js'
import { leadFields, leadRequest } from './leads.js'
import { isCaughtUp } from '../kit/service/readiness.js'
import { shown, type Row } from './row.js'
import { makeDue, settle, startMeasured } from './seed.js'
import { startServer } from './servers.js'
import { medianOf, summaryOf, type Summary } from './summary.js'
import { embedded, forEach, openTools, type StoreUrls } from './tools.js'

type NoisyLoad = {
  readonly rounds: number
  readonly seconds: number
  /** Deliveries that are due to the bad receivers, all together. */
  readonly due: number
}

/** From sending a lead to its answer, and to its `started` at the receiver. */
type Neighbour = { readonly accepted: Summary; readonly delivered: Summary }

/** Stores of their own for one service. */
type Place = { readonly urls: StoreUrls; readonly directory: string; readonly remove: () => Promise<void> }

/** A lead of the account that is measured, by its serial number. */
type Leads = (serial: number) => string

/** A store with an account that is measured, and where it is beset a noisy one. */
type Neighbourhood = { readonly place: Place; readonly leads: Leads; readonly noise: Noise | undefined }

const warmUpSeconds = 2

/**
 * Of the neighbour, with a source and a playbook each: one alone is posted to no faster than at eight requests at once.
 */
const webhooks = 16

/** Requests of each kind of noise for each lead of the neighbour. */
const shares = { hot: 1 / 3, fat: 1 / 10, poison: 1 / 10 }

/** Milliseconds that a start may take with all that is due, its read models being built. */
const longestStart = 600_000

/**
 * An account at a third of the capacity, alone and beside one that does everything bad at once, on stores of one kind.
 */
const measureNeighbour = async (openPlace: () => Promise<Place>, load: NoisyLoad) => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const bad = await startChild('dist/test/bench/bad-receiver.js', {})
  const [first, second] = [await openPlace(), await openPlace()]
  try {
    const alone = await settled(first, receiver)
    const beset = await settled(second, receiver, { bad, due: load.due })
    const perSecond = Math.floor((await capacityOf(alone, receiver, load.seconds)) / 3)
    const measured: { readonly alone: Array<Neighbour>; readonly beset: Array<Neighbour> } = { alone: [], beset: [] }
    let serial = 2 * firstSerial
    for (let round = 0; round <= load.rounds; round += 1) {
      const turns = [{ kind: 'alone', where: alone } as const, { kind: 'beset', where: beset } as const]
      for (const { kind, where } of round % 2 === 0 ? turns : turns.reverse()) {
        const neighbour = await measureOnce(where, receiver, { perSecond, seconds: load.seconds }, serial)
        serial += (load.seconds + warmUpSeconds) * perSecond
        // The first round warms up.
        if (round > 0) measured[kind].push(neighbour)
      }
    }
    return { perSecond, alone: medianNeighbour(measured.alone), beset: medianNeighbour(measured.beset) }
  } finally {
    await receiver.stop()
    await bad.stop()
    for (const { remove } of [first, second]) await remove()
  }
}

type Bad = { readonly bad: Child; readonly due: number }

/** Opens the accounts, and builds the read models of all that is due. */
const settled = async (place: Place, receiver: Child, noisy?: Bad): Promise<Neighbourhood> => {
  const { directory, urls } = place
  const first = await startMeasured(directory, urls)
  const leads = await openNeighbour(first, receiver)
  const receivers = noisy === undefined ? [] : ['/silent', '/drips'].map((path) => noisy.bad.url + path)
  const account = noisy === undefined ? undefined : await openNoisyAccount(first, receivers)
  await first.stop()
  if (account === undefined || noisy === undefined) return { place, leads, noise: undefined }
  await seedDue(place, account, noisy.due)
  await settle(directory, urls)
  return { place, leads, noise: noiseOf(account) }
}

const openNeighbour = async (service: Child, receiver: Child): Promise<Leads> => {
  const { manage, addSource, addWebhook } = await openAccount({ url: service.url }, 'Neighbour')
  const requests: Array<Leads> = []
  for (let n = 0; n < webhooks; n += 1) {
    const playbook_id = having(await manage('POST', '/playbooks', { title: `Playbook ${n}` }), 'playbook').id
    await addWebhook({ url: receiver.url, token: 'neighbour', events: ['started'], playbook_id })
    const { postUrl } = await addSource({ title: `Source ${n}`, playbook_id })
    requests.push(leadRequest(new URL(postUrl).pathname))
  }
  return (serial) => requests[serial % webhooks]?.(serial) ?? ''
}

const seedDue = async ({ directory, urls }: Place, account: NoisyAccount, due: number): Promise<void> => {
  const tools = await openTools(directory, urls)
  await forEach(due, async (n) => {
    const who = { contact_id: `nct_${tools.ids.ulid()}`, engagement_id: `neg_${tools.ids.ulid()}` } as const
    const webhookId = account.webhookIds[n % account.webhookIds.length]
    if (webhookId !== undefined) await makeDue(tools, account.id, webhookId, who)
  })
  await poison(tools.store, account)
  await tools.close()
}

/** Leads a second that are taken at full load. */
const capacityOf = async ({ place, leads }: Neighbourhood, receiver: Child, seconds: number): Promise<number> => {
  const service = await startMeasured(place.directory, place.urls)
  const load = { port: service.port, connections: 16, request: leads, expectedStatus: 200 }
  const { nextSerial } = await closedLoop({ ...load, seconds: warmUpSeconds }, firstSerial)
  const measured = await closedLoop({ ...load, seconds }, nextSerial)
  await arrivals(receiver, measured.nextSerial - firstSerial)
  await service.stop()
  return measured.perSecond
}

/** Of the leads of the neighbour; those of its rounds come after. */
const firstSerial = 1_000_000

type Pace = { readonly perSecond: number; readonly seconds: number }

const measureOnce = async (
  { place, leads, noise }: Neighbourhood,
  receiver: Child,
  { perSecond, seconds }: Pace,
  serial: number,
): Promise<Neighbour> => {
  await arrivalsAt(receiver)
  const service = await startMeasured(place.directory, place.urls)
  await until('nothing lags', longestStart, () => isCaughtUp(service))
  const send = (rate: number, request: (serial: number) => string, expectedStatus = 200) => {
    const count = Math.ceil(rate * (warmUpSeconds + seconds))
    return openLoop({ port: service.port, connections: 16, request, expectedStatus }, rate, count, serial)
  }
  const sent = new Map<string, number>()
  const accepted = send(perSecond, (nth) => {
    sent.set(leadFields(nth).email, performance.timeOrigin + performance.now())
    return leads(nth)
  })
  const beside =
    noise === undefined
      ? []
      : [
          send(perSecond * shares.hot, textOf(noise.hot)),
          send(perSecond * shares.fat, textOf(noise.fat)),
          send(perSecond * shares.poison, textOf(noise.poison), 201),
        ]
  const latencies = await accepted
  await Promise.all(beside)
  const arrived = new Map(await arrivals(receiver, latencies.length))
  await service.stop()
  const warmUp = perSecond * warmUpSeconds
  const untilDelivered = [...sent].map(([email, at]) => (arrived.get(email) ?? Number.POSITIVE_INFINITY) - at)
  return {
    accepted: summaryOf(latencies.slice(warmUp), seconds),
    delivered: summaryOf(untilDelivered.slice(warmUp), seconds),
  }
}

const textOf =
  (sending: (nth: number) => Sending) =>
  (nth: number): string => {
    const [path, { method = 'GET', headers = {}, body = '' }] = sending(nth)
    return requestText(method, path, headers, String(body))
  }

const medianNeighbour = (all: ReadonlyArray<Neighbour>): Neighbour => ({
  accepted: medianOf(all.map(({ accepted }) => accepted)),
  delivered: medianOf(all.map(({ delivered }) => delivered)),
})

const onEmbedded = (): Promise<Place> => {
  const { path: directory, remove } = openTemporaryDirectory()
  return Promise.resolve({ urls: embedded, directory, remove })
}

/** On a double of EventStoreDB and a database of its own. */
const onServers = (server: string) => async (): Promise<Place> => {
  const { path: directory, remove } = openTemporaryDirectory()
  const double = await startServer()
  const database = testDatabase(server)
  return {
    urls: { eventStoreUrl: double.url, mongoUrl: database.url },
    directory,
    remove: async () => {
      await database.drop()
      await double.stop()
      await remove()
    },
  }
}

/**
 * The rows of the table: a neighbour beside a noisy account against the same alone, embedded or with the documents on a
 * server.
 */
export const besideNoise = async (load: NoisyLoad, server?: string): Promise<ReadonlyArray<Row>> => {
  const { perSecond, alone, beset } = await measureNeighbour(
    server === undefined ? onEmbedded : onServers(server),
    load,
  )
  const stores = server === undefined ? 'embedded' : 'on servers'
  return (['accepted', 'delivered'] as const).map((what) => {
    const ratio = beset[what].p99 / alone[what].p99
    return {
      measured: `lead ${what} beside a noisy account, ${stores}, ${perSecond} leads/s, ${load.due} deliveries due`,
      ours: shown(beset[what]),
      baseline: shown(alone[what]),
      ratio: `p99 ${ratio.toFixed(2)}`,
      goal: 'p99 at most 2',
      met: ratio <= 2,
    }
  })
}
