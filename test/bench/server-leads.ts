import fetch from 'node-fetch'
import { openAccount } from '../kit/service/account.js'
import { isCaughtUp } from '../kit/service/readiness.js'
import { environmentOf, secretKey } from '../kit/service/settings.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { arrivals } from './arrivals.js'
import { startChild, type Child } from './child.js'
import { closedLoop } from './http-load.js'
import { leadRequest } from './leads.js'
import { nodeArguments } from './seed.js'
import { medianOf, type Summary } from './summary.js'

/** Leads, bare appends, and the calls of a lead made by the bare driver (`bare-driver.ts`). */
const subjects = ['leads', 'appends', 'calls'] as const

type LeadsAgainstDriver = Readonly<Record<(typeof subjects)[number], Summary>>

/** What each lead is measured at: alone, and with 64 at once. */
type Measured = { readonly alone: LeadsAgainstDriver; readonly atOnce: LeadsAgainstDriver }

/** In milliseconds, where a named server holds a log already. */
const longestStart = 600_000

/** Connections, and appends in flight. */
const many = 64

/**
 * Leads with a new number each, of an account with one webhook, on an EventStoreDB and documents of the service's own,
 * beside what the bare driver does on the same server, by turns.
 */
export const measureServerLeads = async (url: string, rounds: number, seconds: number): Promise<Measured> => {
  const directory = openTemporaryDirectory()
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const settings = { EVENTSTORE_URL: url, SECRET_KEY: secretKey.toString('base64url') }
  const environment = environmentOf(directory.path, settings) as Readonly<Record<string, string>>
  const service = await startChild('dist/app/main.js', environment, nodeArguments)
  await until('nothing lags', longestStart, () => isCaughtUp(service))
  const driver = await startChild('dist/test/bench/bare-driver.js', { EVENTSTORE: url, RECEIVER: receiver.url })
  const account = await openAccount({ url: service.url }, 'Measured')
  await account.addWebhook({ url: receiver.url, token: 'bench', events: ['started'] })
  let serial = Math.floor(Math.random() * 1_000_000)

  const postedTo = async ({ port }: Child, path: string, connections: number): Promise<Summary> => {
    const load = { port, connections, request: leadRequest(path), expectedStatus: 200, seconds }
    const measured = await closedLoop(load, serial)
    // What is still to be posted would go on beside what is measured next.
    await arrivals(receiver, measured.nextSerial - serial)
    serial = measured.nextSerial
    return measured
  }
  const measure: Readonly<Record<(typeof subjects)[number], (connections: number) => Promise<Summary>>> = {
    leads: (connections) => postedTo(service, new URL(account.postUrl).pathname, connections),
    appends: async (connections) => {
      const answer = await fetch(`${driver.url}/appends?in_flight=${connections}&seconds=${seconds}`)
      return (await answer.json()) as Summary
    },
    calls: (connections) => postedTo(driver, '/lead', connections),
  }
  const measureAll = async (connections: number): Promise<LeadsAgainstDriver> => {
    const runs = { leads: Array<Summary>(), appends: Array<Summary>(), calls: Array<Summary>() }
    for (let round = 0; round <= rounds; round += 1)
      for (const subject of subjects) {
        const measured = await measure[subject](connections)
        // The first round warms up.
        if (round > 0) runs[subject].push(measured)
      }
    return { leads: medianOf(runs.leads), appends: medianOf(runs.appends), calls: medianOf(runs.calls) }
  }

  const alone = await measureAll(1)
  const atOnce = await measureAll(many)
  await service.stop()
  await driver.stop()
  await receiver.stop()
  await directory.remove()
  return { alone, atOnce }
}
