import test, { type ExecutionContext } from 'ava'
import { webhookShards } from '../../../projections/delivery/webhook-shards.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { addressOf, type ServiceProcess } from '../../kit/service/service-process.js'
import { isWholeInTheEnd, leasesOf, onServers, openFleet, type Fleet, type Leases } from '../../kit/load/fleet.js'
import { loadOn, type Load } from '../../kit/load/load.js'
import { sleep, until } from '../../kit/time/until.js'
import { oneSlowVendor, vendorsAt, type Vendors } from '../../kit/load/vendors.js'
import { openLoadedAccount } from '../../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { startReceiver, type LoadReceiver } from '../../kit/load/load-receiver.js'

/** The read models, the reactions, the two fan-outs and the eraser; the webhooks; the mailer; the follow-ups. */
const kindsOfWork = [readModels.length + 4, webhookShards.names.length, 1, contactShards.names.length]
const names = kindsOfWork.reduce((sum, count) => sum + count, 0)

/** Each kind of work is shared out by itself. */
const fairShare = kindsOfWork.reduce((sum, count) => sum + Math.ceil(count / 2), 0)

/** In milliseconds. */
const longestTakeover = 60_000

type Pair = {
  readonly fleet: Fleet
  readonly leases: Leases
  /** What the first process is called among the instances. */
  readonly firstInstance: string
  readonly first: ServiceProcess
  /** Where the other one answers. */
  readonly address: string
  readonly receiver: LoadReceiver
  readonly load: Load
  readonly vendors: Vendors
}

/** Two processes that share the work, and vendors who post to the second one. */
const pair = async (t: ExecutionContext): Promise<Pair> => {
  t.timeout(300_000)
  const fleet = await openFleet(t)
  const leases = leasesOf(t, fleet)
  const receiver = await startReceiver(t)
  const first = fleet.start()
  const account = await openLoadedAccount(await addressOf(first), receiver.url)
  const [firstInstance = ''] = await leases.instances()
  const address = await addressOf(fleet.start())
  await until('both have a share', 60_000, async () => new Set((await leases.holders()).values()).size === 2)
  const load = loadOn(account, randomFrom(seedOf(t)))
  const vendors = vendorsAt(t, address, load, oneSlowVendor)
  await until('leads are accepted', 60_000, () => load.ledger.leads.length >= 30)
  return { fleet, leases, firstInstance, first, address, receiver, load, vendors }
}

const hasNothing = async ({ leases, firstInstance }: Pair): Promise<boolean> =>
  ![...(await leases.holders()).values()].includes(firstInstance)

onServers('the takeover of work', () => {
  test('what a killed process did is taken over, and nothing is lost', async (t) => {
    const both = await pair(t)
    both.first.signal('SIGKILL')
    const killedAt = performance.now()
    await until('the other one has all the work', longestTakeover, () => hasNothing(both))
    t.log(`taken over after ${Math.round(performance.now() - killedAt)} ms`)
    const accepted = both.load.ledger.leads.length
    await until('leads are accepted', 60_000, () => both.load.ledger.leads.length >= accepted + 30)
    await both.vendors.stop()
    await isWholeInTheEnd(t, both.fleet, both.address, both.receiver, both.load.ledger)
  })

  test('a process that was paused for longer than its lease writes nothing stale, and takes part again', async (t) => {
    const both = await pair(t)
    both.first.signal('SIGSTOP')
    await until('the other one has all the work', longestTakeover, () => hasNothing(both))
    const terms = await both.leases.tokens()
    const accepted = both.load.ledger.leads.length
    await until('leads are accepted', 60_000, () => both.load.ledger.leads.length >= accepted + 30)
    both.first.signal('SIGCONT')
    await until('it joined anew', 60_000, async () => new Set((await both.leases.holders()).values()).size === 2)
    t.true(await hasNothing(both), 'under another name')
    for (const [name, term] of await both.leases.tokens()) t.true(term >= (terms.get(name) ?? 0), name)
    await sleep(500)
    await both.vendors.stop()
    await isWholeInTheEnd(t, both.fleet, both.address, both.receiver, both.load.ledger)
  })

  test('of two processes that start at once each name has one holder, and both have a share', async (t) => {
    const fleet = await openFleet(t)
    const leases = leasesOf(t, fleet)
    const processes = [fleet.start(), fleet.start()]
    await Promise.all(processes.map((one) => addressOf(one)))
    // One that is in the middle of handing over holds more than its share.
    const isFair = async (): Promise<boolean> => {
      const owners = [...(await leases.holders()).values()]
      const counts = [...new Set(owners)].map((owner) => owners.filter((one) => one === owner).length)
      return owners.length === names && counts.length === 2 && counts.every((count) => count <= fairShare)
    }
    await t.notThrowsAsync(until('both have a fair share', 60_000, isFair))
  })
})
