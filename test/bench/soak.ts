import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { manage } from '../kit/service/account.js'
import { loadOn, usualMix, type Load } from '../kit/load/load.js'
import { openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { randomFrom } from '../kit/load/random.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { sleep, until } from '../kit/time/until.js'
import { startChild, type Child } from './child.js'
import { isReady, readinessOf } from '../kit/service/readiness.js'
import { startMeasured } from './seed.js'

/** How often the service is killed, and how long it lives each time. */
type SoakLoad = { readonly lives: number; readonly seconds: number }

/** At the end of a life, under load. */
export type SoakSample = {
  /** Acknowledged so far. */
  readonly leads: number
  /** Resident, in MB. */
  readonly memory: number
  /** In kB, log and read models together. */
  readonly diskPerLead: number
  /** Of the follower that is furthest from the head, in positions. */
  readonly lag: number
  /** Milliseconds from the start of this life until it was ready. */
  readonly readyAfter: number
}

const longestStart = 120_000

/** Leads, sales, searches, and webhooks that take, fail or never answer; gives the first life and the last one. */
export const measureSoak = async ({ lives, seconds }: SoakLoad): Promise<readonly [SoakSample, SoakSample]> => {
  const { path: directory, remove } = openTemporaryDirectory()
  const receiver = await startChild('dist/test/bench/receiver.js', {})
  const bad = await startChild('dist/test/bench/bad-receiver.js', {})
  const samples: Array<SoakSample> = []
  try {
    let load: Load | undefined
    for (let life = 1; life <= lives; life += 1) {
      const begun = performance.now()
      const service = await startMeasured(directory)
      await until('it is ready', longestStart, () => isReady(service))
      const readyAfter = performance.now() - begun
      load ??= loadOn(await besetAccount(service, receiver, bad), randomFrom(1), usualMix)
      const ended = load.run(service.url, new AbortController().signal)
      await sleep(seconds * 1_000)
      samples.push({ ...(await sampleOf(directory, service, load)), readyAfter })
      await service.kill()
      await ended
      if (load.ledger.surprises.length > 0) throw new Error(load.ledger.surprises.join('\n'))
    }
  } finally {
    await receiver.stop()
    await bad.stop()
    await remove()
  }
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined) throw new Error('it had no life')
  return [first, last]
}

/** An account with one webhook that takes everything, one that always fails and one that never answers. */
const besetAccount = async (service: Child, receiver: Child, bad: Child): Promise<LoadedAccount> => {
  const account = await openLoadedAccount(service.url, receiver.url)
  for (const path of ['/fails', '/silent']) {
    const webhook = { url: bad.url + path, token: 'bad', events: ['started'] }
    await manage({ url: service.url }, 'POST', `/accounts/${account.id}/webhooks`, webhook)
  }
  return account
}

const sampleOf = async (
  directory: string,
  service: Child,
  { ledger }: Load,
): Promise<Omit<SoakSample, 'readyAfter'>> => {
  const { projections = [] } = await readinessOf(service)
  const leads = ledger.leads.length
  const bytes = readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
  return {
    leads,
    memory: service.memory(),
    diskPerLead: bytes / 1_024 / leads,
    lag: Math.max(0, ...projections.map(({ lag }) => lag ?? 0)),
  }
}
