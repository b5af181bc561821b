import test from 'ava'
import { startDouble } from '../eventstoredb-double/double.js'
import { receiverFor } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

test('leads that come in while EventStoreDB is scavenged are all delivered', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const receiver = await receiverFor(t)
  const service = await serviceFor(t, temporaryDirectory(t), { eventStoreUrl: double.url, mongoUrl: undefined })
  const account = await openAccount(service)
  await account.addWebhook({ url: receiver.url, token: 'x' })
  // What is erased is truncated, and gone with the scavenge.
  for (let n = 0; n < 5; n += 1) {
    const { contact_id } = await account.submitted()
    await receiver.received(n + 1)
    const erase = () => account.manage('POST', `/contacts/${contact_id}/erase`, {})
    await until('erased', 60_000, erase, ({ text }) => !text.includes('"pending"'))
  }
  const submitted: Array<string> = []
  for (let n = 0; n < 10; n += 1) {
    if (n === 3) {
      const before = double.log().length
      double.scavenge()
      t.true(double.log().length < before, 'it takes something out')
    }
    submitted.push((await account.submitted()).contact_id)
  }
  const posted = (await receiver.received(15)).slice(5).map(({ body }) => body.toString())
  for (const contact of submitted) t.true(posted.some((body) => body.includes(contact)))
})
