import test from 'ava'
import { startDouble } from '../../eventstoredb-double/double.js'
import { onServers } from '../../kit/load/fleet.js'
import { send } from '../../kit/network/http.js'
import { tcpProxy } from '../../kit/network/tcp-proxy.js'
import { openAccount } from '../../kit/service/account.js'
import { readinessOf } from '../../kit/service/readiness.js'
import { addressOf, isRefused, startService } from '../../kit/service/service-process.js'
import { hostOf, urlAt, urlWith } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { until } from '../../kit/time/until.js'
import { mongoProxy } from '../../mongodb-proxy/proxy.js'

const authenticationFailed = 18

onServers('a start before its servers', (url) => {
  for (const [first, second] of [
    ['EVENTSTORE_URL', 'MONGODB_URL'],
    ['MONGODB_URL', 'EVENTSTORE_URL'],
  ] as const) {
    test(`a start waits for both of its servers and goes on by itself, where ${first} comes first`, async (t) => {
      const double = await startDouble()
      t.teardown(double.stop)
      await double.stop()
      const database = testDatabase(url)
      t.teardown(database.drop)
      const { host, port } = hostOf(database.url)
      const proxy = await tcpProxy(host, port)
      t.teardown(proxy.takeAway)
      const comes = { EVENTSTORE_URL: double.start, MONGODB_URL: proxy.bringBack }

      const settings = { EVENTSTORE_URL: double.url, MONGODB_URL: urlAt(database.url, proxy.port), LOG_LEVEL: 'info' }
      const service = startService(t, temporaryDirectory(t), settings)
      const address = () => service.logged().find(({ msg }) => msg === 'listening')?.['address']
      await until('it listens', 60_000, () => address() !== undefined)
      const site = { url: String(address()) }
      const waitsFor = async (...named: ReadonlyArray<string>): Promise<void> => {
        const isSo = async (): Promise<boolean> =>
          (await readinessOf(site)).waiting_for?.toSorted().join() === named.join()
        await until(`it waits for ${named.join(' and ')}`, 60_000, isSo)
        t.is((await send(`${site.url}/health/live`)).status, 200)
      }
      await waitsFor('EVENTSTORE_URL', 'MONGODB_URL')
      await comes[first]()
      await waitsFor(second)
      await comes[second]()
      t.is(await addressOf(service), site.url)
      await (await openAccount(site)).submitted()
    })
  }

  test('a password that MongoDB refuses ends the start with one sentence, which does not repeat it', async (t) => {
    const database = testDatabase(url)
    t.teardown(database.drop)
    const proxy = await mongoProxy(database.url)
    t.teardown(proxy.close)
    proxy.fail(({ name }) => name === 'saslStart', { kind: 'error', code: authenticationFailed }, Infinity)
    const MONGODB_URL = urlAt(database.url, proxy.port).replace('mongodb://', 'mongodb://ada:pass-word@')
    const service = startService(t, temporaryDirectory(t), { MONGODB_URL })
    await isRefused(t, service, /MONGODB_URL: MongoDB refused the credentials /)
    t.false(service.stderr().includes('pass-word'))
  })

  test('a name of a database that MongoDB does not take ends the start with one sentence', async (t) => {
    const MONGODB_URL = urlWith(url, { database: 'leads%20here' })
    const service = startService(t, temporaryDirectory(t), { MONGODB_URL })
    await isRefused(t, service, /MONGODB_URL: MongoDB takes no database of the name in the path of the URL /)
  })
})
