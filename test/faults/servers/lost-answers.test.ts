import test, { type ExecutionContext } from 'ava'
import type { Faults } from '../../eventstoredb-double/faults.js'
import { addressOf } from '../../kit/service/service-process.js'
import { isWholeInTheEnd, onServers, openFleet } from '../../kit/load/fleet.js'
import { loadOn, usualMix } from '../../kit/load/load.js'
import { sleep, until } from '../../kit/time/until.js'
import { vendorsAt } from '../../kit/load/vendors.js'
import { openLoadedAccount } from '../../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { startReceiver } from '../../kit/load/load-receiver.js'

const losses: Readonly<Record<string, (faults: Faults) => void>> = {
  'breaks off': (faults) => faults.breakAfterWriting(1),
  'never comes': (faults) => faults.leaveUnanswered(1),
}

const rounds = 5

const lost = async (t: ExecutionContext, lose: (faults: Faults) => void): Promise<void> => {
  t.timeout(300_000)
  const fleet = await openFleet(t)
  const receiver = await startReceiver(t)
  const service = fleet.start()
  const address = await addressOf(service)
  const account = await openLoadedAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)), { ...usualMix, mayBeUnavailable: true })
  const vendors = vendorsAt(t, address, load)
  for (let round = 1; round <= rounds; round += 1) {
    const accepted = load.ledger.leads.length
    await until('leads are accepted', 60_000, () => load.ledger.leads.length >= accepted + 10)
    lose(fleet.double.faults)
    await sleep(200)
  }
  fleet.double.faults.clear()
  await vendors.stop()
  await isWholeInTheEnd(t, fleet, address, receiver, load.ledger)
  const ids = fleet.double.log().map(({ stream, id }) => `${stream} ${id}`)
  t.is(new Set(ids).size, ids.length, 'no event stands in a stream twice')
  const submitted = fleet.double.log().filter(({ type }) => type === 'LeadSubmitted')
  t.is(new Set(submitted.map(({ stream }) => stream)).size, submitted.length)
}

onServers('an append whose answer is lost', () => {
  for (const [how, lose] of Object.entries(losses)) {
    test(`an append whose answer ${how} is not written twice`, (t) => lost(t, lose))
  }
})
