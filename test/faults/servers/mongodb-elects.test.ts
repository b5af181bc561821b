import test from 'ava'
import { mongoProxy } from '../../mongodb-proxy/proxy.js'
import { onServers } from '../../kit/load/fleet.js'
import { addressOf, startService, stopped } from '../../kit/service/service-process.js'
import { urlAt } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

const primarySteppedDown = 189

onServers('a MongoDB that elects a primary', (url) => {
  test('a primary that steps down while a start compares the first event refuses no start', async (t) => {
    const database = testDatabase(url)
    t.teardown(database.drop)
    const proxy = await mongoProxy(database.url)
    t.teardown(proxy.close)
    const environment = { MONGODB_URL: urlAt(database.url, proxy.port) }
    const directory = temporaryDirectory(t)
    const first = startService(t, directory, environment)
    await addressOf(first)
    await stopped(t, first)

    const comparisons = (): number => proxy.commands.filter(isComparison).length
    const isComparison = ({ name, collection }: (typeof proxy.commands)[number]): boolean =>
      name === 'find' && collection === 'log'
    const before = comparisons()
    // More than once, because the driver repeats a read once.
    proxy.fail(isComparison, { kind: 'error', code: primarySteppedDown }, 3)
    const again = startService(t, directory, environment)
    await addressOf(again)
    t.true(comparisons() - before >= 4, `${comparisons() - before} reads`)
    t.deepEqual(again.logged(), [])
    await stopped(t, again)
  })
})
