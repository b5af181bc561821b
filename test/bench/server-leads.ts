import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client'
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { openAccount } from '../kit/service/account.js'
import { isCaughtUp } from '../kit/service/readiness.js'
import { environmentOf, secretKey } from '../kit/service/settings.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { startChild } from './child.js'
import { closedLoop } from './http-load.js'
import { leadRequest } from './leads.js'
import { nodeArguments } from './seed.js'
import type { AgainstDriver } from './servers.js'
import { medianOf, summaryOf, type Summary } from './summary.js'

/** What each lead is measured at: alone, and with 64 at once. */
type LeadsAgainstAppends = { readonly alone: AgainstDriver; readonly atOnce: AgainstDriver }

/** In milliseconds, where a named server holds a log already. */
const longestStart = 600_000

/** Connections, and appends in flight. */
const many = 64

/**
 * Leads with a new number each, of an account with one webhook, on an EventStoreDB and documents of the service's own,
 * beside bare appends of 1.5 kB to the same server by turns.
 */
export const measureServerLeads = async (
  url: string,
  rounds: number,
  seconds: number,
): Promise<LeadsAgainstAppends> => {
  const directory = openTemporaryDirectory()
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const settings = { EVENTSTORE_URL: url, SECRET_KEY: secretKey.toString('base64url') }
  const environment = environmentOf(directory.path, settings) as Readonly<Record<string, string>>
  const service = await startChild('dist/app/main.js', environment, nodeArguments)
  await until('nothing lags', longestStart, () => isCaughtUp(service))
  const client = EventStoreDBClient.connectionString(url)
  const account = await openAccount({ url: service.url }, 'Measured')
  await account.addWebhook({ url: receiver.url, token: 'bench', events: ['started'] })
  const request = leadRequest(new URL(account.postUrl).pathname)
  let serial = Math.floor(Math.random() * 1_000_000)

  const leads = async (connections: number): Promise<Summary> => {
    const measured = await closedLoop(
      { port: service.port, connections, request, expectedStatus: 200, seconds },
      serial,
    )
    serial = measured.nextSerial
    return measured
  }
  const measureBoth = async (connections: number): Promise<AgainstDriver> => {
    const ours: Array<Summary> = []
    const theirs: Array<Summary> = []
    for (let round = 0; round <= rounds; round += 1) {
      const baseline = await appends(client, connections, seconds)
      const measured = await leads(connections)
      // The first round warms up.
      if (round === 0) continue
      theirs.push(baseline)
      ours.push(measured)
    }
    return { ours: medianOf(ours), theirs: medianOf(theirs) }
  }

  const alone = await measureBoth(1)
  const atOnce = await measureBoth(many)
  await service.stop()
  await receiver.stop()
  await client.dispose()
  await directory.remove()
  return { alone, atOnce }
}

const appends = async (client: EventStoreDBClient, inFlight: number, seconds: number): Promise<Summary> => {
  const latencies: Array<number> = []
  const started = performance.now()
  const end = started + seconds * 1000
  const writer = async (): Promise<void> => {
    while (performance.now() < end) {
      const sent = performance.now()
      const event = jsonEvent({ type: 'Bare', data: { text: 'x'.repeat(1_500) } })
      await client.appendToStream(`bare-${randomUUID()}`, event, { expectedRevision: NO_STREAM })
      latencies.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, writer))
  return summaryOf(latencies, (performance.now() - started) / 1000)
}
