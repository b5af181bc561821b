import test from 'ava'
import { onServers } from '../../kit/load/fleet.js'
import { breakNextWriteOf } from '../../kit/network/broken-write.js'
import { dataDirectory } from '../../kit/service/data-directory.js'
import { serviceFor } from '../../kit/service/in-process-service.js'
import { subscribed } from '../../kit/service/subscription.js'
import { openServersOf } from '../../kit/stores/servers.js'
import { until } from '../../kit/time/until.js'

onServers('a command to MongoDB that never ends', () => {
  test('where the connection breaks while a checkpoint is asked for webhooks wait for some seconds, and no longer', async (t) => {
    const directory = dataDirectory(t)
    await openServersOf(directory)
    const { account, receiver } = await subscribed(t, await serviceFor(t, directory))
    await account.submitted()
    await receiver.receivedOne()
    const isBroken = breakNextWriteOf(t, 'deliveries#')
    await account.submitted()
    await account.submitted()
    await until('both reach the webhook', 90_000, () => receiver.requests.length === 3)
    t.true(isBroken())
  })
})
