import test from 'ava'
import { receiverFor } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { isCaughtUp, isReady } from '../kit/service/readiness.js'
import { addressOf, startService, stopped } from '../kit/service/service-process.js'
import { settledDeliveries } from '../kit/service/subscription.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { countingProxy } from './counting-proxy.js'
import { eventStoreFor, settingsOn } from './server.js'

const leads = 10

test('with empty documents beside a full log read models are built anew, and no work is done a second time', async (t) => {
  const { url: proxied, calls } = await countingProxy(t, await eventStoreFor(t))
  const start = async () => {
    const service = startService(t, temporaryDirectory(t), settingsOn(proxied))
    return { service, url: await addressOf(service) }
  }
  const first = await start()
  const site = { url: first.url }
  const receiver = await receiverFor(t)
  const account = await openAccount(site)
  const webhookId = await account.addWebhook({ url: receiver.url, token: 'x' })
  for (let n = 1; n <= leads; n += 1) await account.submitted()
  const delivered = await settledDeliveries(account, webhookId, leads)
  await until('everything has followed the log', 60_000, () => isCaughtUp(site))
  await stopped(t, first.service)

  const appended = calls().appendedTo.length
  site.url = (await start()).url
  await until('it is ready', 60_000, () => isReady(site))
  await until('everything has followed the log', 60_000, () => isCaughtUp(site))
  t.deepEqual(await settledDeliveries(account, webhookId, leads), delivered)
  t.is(receiver.requests.length, leads)
  t.deepEqual(
    calls()
      .appendedTo.slice(appended)
      .filter((stream) => !/^(\$\$)?checkpoint-/.test(stream)),
    [],
  )
})
