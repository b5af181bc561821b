import test, { type ExecutionContext } from 'ava'
import { addressOf } from '../../kit/service/service-process.js'
import { isWhole, onServers, openFleet } from '../../kit/load/fleet.js'
import { loadOn, openAccount, randomFrom, seedOf, startReceiver } from '../../kit/load/load.js'
import { until } from '../../kit/time/until.js'
import { vendorsAt } from '../../kit/load/vendors.js'

const cuts = 100

const cut = async (t: ExecutionContext, how: 'unavailable' | 'cleanly'): Promise<void> => {
  t.timeout(180_000)
  const fleet = await openFleet(t)
  const receiver = await startReceiver(t)
  const address = await addressOf(t, fleet.start({ logLevel: 'fatal' }))
  const account = await openAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)))
  fleet.double.faults.cutSubscriptions(7, cuts, how)
  const vendors = vendorsAt(address, load)
  await until('the subscriptions were cut', 120_000, () => fleet.double.calls().cuts >= cuts)
  await vendors.stop()
  await isWhole(t, fleet, address, receiver, load.ledger)
  t.is(fleet.double.calls().cuts, cuts)
}

onServers('a subscription that is cut', () => {
  for (const how of ['unavailable', 'cleanly'] as const) {
    test(`read models are whole after a subscription was cut ${cuts} times, ${how}`, (t) => cut(t, how))
  }
})
