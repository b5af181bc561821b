import test, { type ExecutionContext } from 'ava'
import { addressOf } from '../../kit/service/service-process.js'
import { isWholeInTheEnd, onServers, openFleet } from '../../kit/load/fleet.js'
import { loadOn } from '../../kit/load/load.js'
import { until } from '../../kit/time/until.js'
import { vendorsAt } from '../../kit/load/vendors.js'
import { openLoadedAccount } from '../../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { startReceiver } from '../../kit/load/load-receiver.js'

const cuts = 50

const cut = async (t: ExecutionContext, how: 'unavailable' | 'cleanly'): Promise<void> => {
  t.timeout(300_000)
  const fleet = await openFleet(t)
  const receiver = await startReceiver(t)
  const address = await addressOf(fleet.start())
  const account = await openLoadedAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)))
  fleet.double.faults.cutSubscriptions(7, cuts, how)
  const vendors = vendorsAt(t, address, load)
  await until('the subscriptions were cut', 120_000, () => fleet.double.calls().cuts >= cuts)
  await vendors.stop()
  await isWholeInTheEnd(t, fleet, address, receiver, load.ledger)
  t.is(fleet.double.calls().cuts, cuts)
}

onServers('a subscription that is cut', () => {
  for (const how of ['unavailable', 'cleanly'] as const) {
    test(`read models are whole after a subscription was cut ${cuts} times, ${how}`, (t) => cut(t, how))
  }
})
