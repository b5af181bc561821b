import test from 'ava'
import { receiverFor } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { deliveriesIn } from '../kit/service/subscription.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { countingProxy } from './counting-proxy.js'
import { eventStoreFor, settingsOn } from './server.js'

const leads = 10

test('the first lead of a number costs an EventStoreDB five appends, and no read of a stream that was just written', async (t) => {
  const { url: proxied, calls } = await countingProxy(t, await eventStoreFor(t))
  const url = await addressOf(startService(t, temporaryDirectory(t), settingsOn(proxied)))
  const receiver = await receiverFor(t)
  const account = await openAccount({ url })
  const webhookId = await account.addWebhook({ url: receiver.url, token: 'x' })

  await account.submitted()
  await deliveriesIn(account, webhookId, 'succeeded', 1)
  const before = calls()
  for (let n = 1; n <= leads; n += 1) await account.submitted()
  await deliveriesIn(account, webhookId, 'succeeded', leads + 1)
  const { appendedTo, read } = calls()

  t.is(ofLeads(appendedTo).length - ofLeads(before.appendedTo).length, 5 * leads)
  t.deepEqual(ofLeads(read), ofLeads(before.read))
  t.true(read.length > ofLeads(read).length, 'the reads of other streams were seen')
})

/** What requests rest on is read again where nothing was appended for a second, and checkpoints are saved now and then. */
const ofLeads = (streams: ReadonlyArray<string>): ReadonlyArray<string> =>
  streams.filter((stream) => !/^(account|playbook|marketing_source|webhook|(\$\$)?checkpoint)-/.test(stream))
