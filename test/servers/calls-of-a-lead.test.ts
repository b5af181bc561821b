import test from 'ava'
import { receiverFor } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { deliveriesIn } from '../kit/service/subscription.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { countingProxy } from './counting-proxy.js'
import { eventStoreFor, settingsOn } from './server.js'

const leads = 20

test('the first lead of a number costs an EventStoreDB five appends, and no read of a stream that was just written', async (t) => {
  const { url: proxied, calls } = await countingProxy(t, await eventStoreFor(t))
  const url = await addressOf(startService(t, temporaryDirectory(t), settingsOn(proxied)))
  const receiver = await receiverFor(t)
  const account = await openAccount({ url })
  const webhookId = await account.addWebhook({ url: receiver.url, token: 'x' })

  await account.submitted()
  await deliveriesIn(account, webhookId, 'succeeded', 1)
  const before = calls()
  const begun = performance.now()
  for (let n = 1; n <= leads; n += 1) await account.submitted()
  await deliveriesIn(account, webhookId, 'succeeded', leads + 1)
  const { appendedTo, read } = calls()

  t.is(ofLeads(appendedTo).length - ofLeads(before.appendedTo).length, 5 * leads)
  t.deepEqual(ofLeads(read), ofLeads(before.read))
  const shared = read.slice(before.read.length).filter((stream) => isShared.test(stream))
  t.true(shared.length > 0, 'the reads of other streams were seen')
  const mostReads = readers * (2 + (performance.now() - begun) / 1_000)
  for (const stream of new Set(shared)) t.true(countOf(stream, shared) <= mostReads, `${stream} is read for each lead`)
})

/** What requests rest on: it is read again where nothing was appended for a second. */
const isShared = /^(account|playbook|marketing_source|webhook)-/

/** Requests that come at once each read such a stream: in a second, so many at most. */
const readers = 2

const countOf = (stream: string, streams: ReadonlyArray<string>): number =>
  streams.filter((other) => other === stream).length

/** Checkpoints are saved now and then. */
const ofLeads = (streams: ReadonlyArray<string>): ReadonlyArray<string> =>
  streams.filter((stream) => !isShared.test(stream) && !/^(\$\$)?checkpoint-/.test(stream))
