import fetch from 'node-fetch'
import { openAccount } from '../kit/service/account.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { arrivals } from './arrivals.js'
import { startChild, type Child } from './child.js'
import { closedLoop } from './http-load.js'
import { leadRequest } from './leads.js'
import { caughtUp, startMeasured } from './seed.js'
import { medianOf, type Summary } from './summary.js'

/** Leads, bare appends, and the calls of a lead made by the bare driver (`bare-driver.ts`). */
const subjects = ['leads', 'appends', 'calls'] as const

type LeadsAgainstDriver = Readonly<Record<(typeof subjects)[number], Summary>>

/** How many at once, and how many milliseconds each begins after the answer before it. */
type Pace = { readonly connections: number; readonly pause: number }

/** A service on this EventStoreDB with documents of its own, and the path of leads of an account with one webhook. */
export const openOnEventStoreDb = async (
  url: string,
  receiver: Child,
  moreArguments: ReadonlyArray<string> = [],
): Promise<{ readonly service: Child; readonly path: string; readonly close: () => Promise<void> }> => {
  const directory = openTemporaryDirectory()
  const urls = { eventStoreUrl: url, mongoUrl: undefined }
  const service = await startMeasured(directory.path, urls, {}, moreArguments)
  // A named server holds a log already.
  await caughtUp(service)
  const account = await openAccount({ url: service.url }, 'Measured')
  await account.addWebhook({ url: receiver.url, token: 'bench', events: ['started'] })
  const close = async (): Promise<void> => {
    await service.stop()
    await directory.remove()
  }
  return { service, path: new URL(account.postUrl).pathname, close }
}

/**
 * Leads with a new number each, of an account with one webhook, on an EventStoreDB and documents of the service's own,
 * beside what the bare driver does on the same server, by turns.
 */
export const measureServerLeads = async (url: string, rounds: number, seconds: number) => {
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const { service, path, close } = await openOnEventStoreDb(url, receiver)
  const driver = await startChild('dist/test/bench/bare-driver.js', { EVENTSTORE: url, RECEIVER: receiver.url })
  let serial = Math.floor(Math.random() * 1_000_000)

  const postedTo = async ({ port }: Child, to: string, pace: Pace): Promise<Summary> => {
    const load = { ...pace, port, request: leadRequest(to), expectedStatus: 200, seconds }
    const measured = await closedLoop(load, serial)
    // What is still to be posted would go on beside what is measured next.
    await arrivals(receiver, measured.nextSerial - serial)
    serial = measured.nextSerial
    return measured
  }
  const measure: Readonly<Record<(typeof subjects)[number], (pace: Pace) => Promise<Summary>>> = {
    leads: (pace) => postedTo(service, path, pace),
    appends: async ({ connections, pause }) => {
      const answer = await fetch(`${driver.url}/appends?in_flight=${connections}&seconds=${seconds}&pause=${pause}`)
      return (await answer.json()) as Summary
    },
    calls: (pace) => postedTo(driver, '/lead', pace),
  }
  const measureAt = async (pace: Pace): Promise<LeadsAgainstDriver> => {
    const runs = { leads: Array<Summary>(), appends: Array<Summary>(), calls: Array<Summary>() }
    for (let round = 0; round <= rounds; round += 1)
      for (const subject of subjects) {
        const measured = await measure[subject](pace)
        // The first round warms up.
        if (round > 0) runs[subject].push(measured)
      }
    return { leads: medianOf(runs.leads), appends: medianOf(runs.appends), calls: medianOf(runs.calls) }
  }

  const measured = {
    /** With nothing else under way. */
    nowAndThen: await measureAt({ connections: 1, pause: 50 }),
    oneByOne: await measureAt({ connections: 1, pause: 0 }),
    atOnce: await measureAt({ connections: 64, pause: 0 }),
  }
  await close()
  await driver.stop()
  await receiver.stop()
  return measured
}
