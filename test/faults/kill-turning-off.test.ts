import test, { type ExecutionContext } from 'ava'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  addressOf,
  directoryWithStores,
  killed,
  operatorKey,
  startService,
  type ChildService,
} from '../kit/service/service-process.js'
import { clientOf, loadOn, openAccount, randomFrom, seedOf, type Account } from '../kit/load/load.js'
import { openReceiver } from '../kit/network/receiver.js'
import { eventsAfter, type StoredEvent } from '../kit/load/streams.js'
import { passed, until } from '../kit/time/until.js'

/** Four days pass in a third of a second, counted from each start anew. */
const rushing = { environment: { CLOCK_RATE: '1000000' } }

const rounds = 3

const addMembers = async (address: string, { id }: Account): Promise<void> => {
  const client = clientOf(address)
  for (const role of ['admin', 'manager', 'agent']) {
    const { status } = await client.send('POST', `/manage/v1/accounts/${id}/members`, {
      headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email: `${role}@example.org`, role }),
    })
    if (status !== 201) throw new Error(`adding a member gave ${status}`)
  }
  client.close()
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
  begun: ChildService,
  random: () => number,
): Promise<number> => {
  let service = begun
  let kills = 0
  while (count(eventsAfter(directory, 0), 'NoticeSent') < 2) {
    await addressOf(t, service)
    // Longer and longer, since each life has to wait for the last retry from the start on.
    await passed(random() * (400 + 100 * kills))
    await killed(service)
    kills += 1
    service = startService(t, directory, rushing)
  }
  await addressOf(t, service)
  // What was owed at the last kill has followed when the log stands still.
  let length = -1
  await until('the log stands still', 30_000, async () => {
    await passed(1_000)
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
  const receiver = await openReceiver()
  t.teardown(receiver.close)
  receiver.answer(() => 500)
  let kills = 0
  for (let round = 1; round <= rounds; round += 1) {
    const directory = await directoryWithStores(t)
    const first = startService(t, directory, rushing)
    const address = await addressOf(t, first)
    const account = await openAccount(address, receiver.url)
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
    // Nineteen attempts were recorded of each delivery that was given up, and every other one is held.
    t.is(count(events, 'DeliveryAbandoned') + count(events, 'DeliveryHeld'), count(events, 'DeliveryDue'))
  }
  t.true(kills >= rounds, 'no kill was a kill')
  t.log(`${kills} kills, ${receiver.requests.length} posts`)
})
