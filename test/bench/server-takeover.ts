import { performance } from 'node:perf_hooks'
import { openAccount } from '../kit/service/account.js'
import { lead } from '../kit/service/leads.js'
import { environmentOf, secretKey } from '../kit/service/settings.js'
import { testDatabase } from '../kit/stores/mongodb.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { startChild, type Child } from './child.js'
import { nodeArguments } from './seed.js'
import { startServer } from './servers.js'
import { isReady } from '../kit/service/readiness.js'

/** Enough of them that each process holds the shards of some. */
const webhooks = 16

/** What came to a path of a receiver so far. */
type Arrivals = { readonly url: string; readonly arrivals: (path?: string) => number }

/**
 * Two processes on the double of EventStoreDB and a MongoDB, which share the webhooks of an account. Milliseconds from
 * the kill of one of them until every webhook got a lead that was submitted to the other one after it.
 */
export const measureServerTakeover = async (mongoUrl: string, receiver: Arrivals): Promise<number> => {
  const log = await startServer()
  const database = testDatabase(mongoUrl)
  const directory = openTemporaryDirectory()
  const settings = { EVENTSTORE_URL: log.url, MONGODB_URL: database.url, SECRET_KEY: secretKey.toString('base64url') }
  const environment = environmentOf(directory.path, settings) as Readonly<Record<string, string>>
  const begin = (): Promise<Child> => startChild('dist/app/main.js', environment, nodeArguments)
  const first = await begin()
  const second = await begin()
  try {
    await until('both are ready', 60_000, async () => (await isReady(first)) && (await isReady(second)))
    const site = { url: `http://127.0.0.1:${second.port}` }
    const account = await openAccount(site, 'Taken over')
    const paths = Array.from({ length: webhooks }, (_, n) => `takeover-${n}`)
    for (const path of paths)
      await account.addWebhook({ url: receiver.url + path, token: 'bench', events: ['started'] })
    const allGot = async (leads: number): Promise<void> => {
      await until('all webhooks have got it', 60_000, () => paths.every((path) => receiver.arrivals(path) >= leads))
    }
    await submit(account.postUrl)
    await allGot(1)
    const killed = performance.now()
    await first.kill()
    await submit(account.postUrl)
    await allGot(2)
    return performance.now() - killed
  } finally {
    await second.stop()
    await log.stop()
    await database.drop()
    await directory.remove()
  }
}

const submit = async (postUrl: string): Promise<void> => {
  const headers = { 'content-type': 'application/json' }
  const { status } = await fetch(postUrl, { method: 'POST', headers, body: JSON.stringify(lead()) })
  if (status !== 200) throw new Error(`a lead got the status ${status}`)
}
