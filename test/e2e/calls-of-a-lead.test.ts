import test from 'ava'
import { startDouble } from '../eventstoredb-double/double.js'
import { receiverFor } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

const leads = 10

test('the first lead of a number costs an EventStoreDB five appends, and no read of a stream that was just written', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const url = await addressOf(startService(t, temporaryDirectory(t), { EVENTSTORE_URL: double.url }))
  const receiver = await receiverFor(t)
  const account = await openAccount({ url })
  await account.addWebhook({ url: receiver.url, token: 'x' })
  const delivered = (count: number): Promise<unknown> =>
    until('the deliveries are recorded', 60_000, () => eventsOf('DeliverySucceeded') === count)
  const eventsOf = (type: string): number => double.log().filter((event) => event.type === type).length

  await account.submitted()
  await delivered(1)
  const [{ appends }, read] = [double.calls(), double.streamsRead().length]
  for (let n = 1; n <= leads; n += 1) await account.submitted()
  await delivered(leads + 1)

  t.is((double.calls().appends - appends) / leads, 5)
  // What requests rest on is read again where nothing was appended for a second.
  const own = /^(lead|contact|engagement|delivery)-/
  t.deepEqual(
    double
      .streamsRead()
      .slice(read)
      .filter((stream) => own.test(stream)),
    [],
  )
})
