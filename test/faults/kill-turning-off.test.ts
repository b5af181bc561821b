import test, { type ExecutionContext } from 'ava'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { addressOf, killed, startService, type ServiceProcess } from '../kit/service/service-process.js'
import { loadOn } from '../kit/load/load.js'
import { receiverFor } from '../kit/network/receiver.js'
import { eventsAfter, type StoredEvent } from '../kit/load/streams.js'
import { sleep, until } from '../kit/time/until.js'
import { dataDirectoryWithStores } from '../kit/service/data-directory.js'
import { manage } from '../kit/service/account.js'
import { clientOf, having } from '../kit/network/http.js'
import { openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../kit/load/random.js'

/** Four days pass in a third of a second, counted from each start anew. */
const rushing = { CLOCK_RATE: '1000000' }

const rounds = 1

const addMembers = async (address: string, { id }: LoadedAccount): Promise<void> => {
  for (const role of ['admin', 'manager', 'agent']) {
    const member = { email: `${role}@example.org`, role }
    having(await manage({ url: address }, 'POST', `/accounts/${id}/members`, member), 'member')
  }
}

const count = (events: ReadonlyArray<StoredEvent>, type: StoredEvent['type']): number =>
  events.filter((event) => event.type === type).length

const mailsIn = (directory: string): ReadonlyArray<string> => {
  const outbox = join(directory, 'outbox')
  return existsSync(outbox) ? readdirSync(outbox).filter((name) => name.endsWith('.eml')) : []
}

/** Kills the service again and again, at any moment of the four days, until the last of its steps stands in the log. */
const killedUntilMailed = async (
  t: ExecutionContext,
  directory: string,
  begun: ServiceProcess,
  random: () => number,
): Promise<number> => {
  let service = begun
  let kills = 0
  while (count(eventsAfter(directory, 0), 'NoticeSent') < 2) {
    await addressOf(service)
    // Longer and longer, since each life has to wait for the last retry from the start on.
    await sleep(random() * (400 + 100 * kills))
    await killed(service)
    kills += 1
    service = startService(t, directory, rushing)
  }
  await addressOf(service)
  // What was owed at the last kill has followed when the log stands still.
  let length = -1
  await until('the log stands still', 60_000, async () => {
    await sleep(1_000)
    const before = length
    length = eventsAfter(directory, 0).length
    return length === before
  })
  await killed(service)
  return kills
}

test('a webhook is turned off once, and each admin and manager is mailed once, wherever the process is killed', async (t) => {
  t.timeout(300_000)
  const random = randomFrom(seedOf(t))
  const receiver = await receiverFor(t)
  receiver.answer(() => 500)
  let kills = 0
  for (let round = 1; round <= rounds; round += 1) {
    const directory = await dataDirectoryWithStores(t)
    const first = startService(t, directory, rushing)
    const address = await addressOf(first)
    const account = await openLoadedAccount(address, receiver.url)
    await addMembers(address, account)
    const client = clientOf(address)
    t.is((await loadOn(account, random).submit(client))?.status, 200)
    client.close()
    kills += await killedUntilMailed(t, directory, first, random)

    const events = eventsAfter(directory, 0)
    const abandoned = count(events, 'DeliveryAbandoned')
    t.true(abandoned >= 1)
    t.is(count(events, 'WebhookTurnedOff'), 1)
    t.is(count(events, 'NoticeDue'), 2)
    t.is(count(events, 'NoticeSent'), 2)
    t.is(mailsIn(directory).length, 2)
    // All attempts were recorded of each delivery that was given up, and every other one is held.
    t.is(count(events, 'DeliveryAbandoned') + count(events, 'DeliveryHeld'), count(events, 'DeliveryDue'))
  }
  t.true(kills >= rounds, 'no kill was a kill')
  t.log(`${kills} kills, ${receiver.requests.length} posts`)
})
