import test, { type ExecutionContext } from 'ava'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import { addressOf } from '../../kit/service/service-process.js'
import { isWholeInTheEnd, onServers, openFleet } from '../../kit/load/fleet.js'
import { loadOn, usualMix } from '../../kit/load/load.js'
import { sleep, until } from '../../kit/time/until.js'
import { between, vendorsAt } from '../../kit/load/vendors.js'
import { clientOf } from '../../kit/network/http.js'
import { finding, openLoadedAccount, type LoadedAccount } from '../../kit/load/loaded-account.js'
import { missingFrom } from '../../kit/load/ledger.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { startReceiver } from '../../kit/load/load-receiver.js'

type Outage = {
  readonly begin: (double: EventStoreDouble) => Promise<void> | void
  readonly end: (double: EventStoreDouble) => Promise<void> | void
}

const outages: Readonly<Record<string, Outage>> = {
  gone: { begin: (double) => double.stop(), end: (double) => double.start() },
  silent: { begin: ({ faults }) => faults.beSilent(), end: ({ faults }) => faults.clear() },
}

/** Each of them submits one lead after the other. */
const vendorCount = 6

/** All in milliseconds; no limit is so short that a slow machine exceeds it. */
const length = 24_000
const longestAnswer = 15_000
const longestRecovery = 60_000

type Search = {
  readonly isKnown: boolean
  readonly elapsed: number
  readonly status: number
  readonly retryAfter: unknown
}

/** Searches for a number that is known and for one that nobody has, until the time is over. */
const searched = async (
  address: string,
  account: LoadedAccount,
  known: string,
  milliseconds: number,
): Promise<ReadonlyArray<Search>> => {
  const client = clientOf(address)
  const end = performance.now() + milliseconds
  const searches: Array<Search> = []
  const search = async (phone: string): Promise<void> => {
    while (performance.now() < end) {
      const sentAt = performance.now()
      const { status, headers } = await client.send(...finding(account, phone))
      const elapsed = performance.now() - sentAt
      searches.push({ isKnown: phone === known, elapsed, status, retryAfter: headers['retry-after'] })
      await sleep(250)
    }
  }
  await Promise.all([search(known), search('+12125550199')])
  client.close()
  return searches
}

const isTurnedAway = ({ status, retryAfter }: Pick<Search, 'retryAfter'> & { readonly status: unknown }): boolean =>
  status === 503 && retryAfter === '1'

const outlived = async (t: ExecutionContext, { begin, end }: Outage): Promise<void> => {
  t.timeout(300_000)
  const fleet = await openFleet(t)
  const receiver = await startReceiver(t)
  const service = fleet.start()
  const address = await addressOf(service)
  const account = await openLoadedAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)), { ...usualMix, mayBeUnavailable: true })
  const { ledger } = load
  const vendors = vendorsAt(t, address, load, { vendors: vendorCount })
  await until('leads are accepted', 60_000, () => ledger.leads.length >= 30)

  await begin(fleet.double)
  const goneAt = performance.now()
  const known = ledger.leads[0]?.submission.phone ?? ''
  const searches = await searched(address, account, known, length - 10_000)
  await sleep(goneAt + length - performance.now())
  const backAt = performance.now()
  await end(fleet.double)
  const isAccepted = (): boolean => vendors.submitted.some(({ sentAt, status }) => sentAt > backAt && status === 200)
  await until('a lead is accepted again', longestRecovery, isAccepted)
  const recovery = performance.now() - backAt
  const accepted = ledger.leads.length
  await until('more leads are accepted', 60_000, () => ledger.leads.length >= accepted + 30)
  await vendors.stop()

  const meanwhile = between(vendors.submitted, goneAt, backAt)
  t.true(meanwhile.length >= vendorCount, `${meanwhile.length} submissions meanwhile`)
  t.deepEqual(
    meanwhile.filter((one) => !isTurnedAway(one)),
    [],
  )
  t.deepEqual([...ledger.unanswered], [])
  const isRight = (one: Search): boolean => isTurnedAway(one) || (one.isKnown && one.status === 200)
  t.deepEqual(
    searches.filter((one) => !isRight(one)),
    [],
  )
  t.true(searches.some(({ isKnown }) => isKnown))
  t.true(searches.some(({ isKnown }) => !isKnown))
  const slowest = Math.max(...[...vendors.submitted, ...searches].map(({ elapsed }) => elapsed))
  t.true(slowest < longestAnswer, `the slowest answer came after ${slowest} ms`)

  const log = await isWholeInTheEnd(t, fleet, address, receiver, ledger)
  t.deepEqual(await missingFrom(address, account, ledger), [])
  t.deepEqual(service.logged(), [], 'it never ended')
  t.log(
    `${ledger.leads.length} leads accepted, ${log.leads()} in the log, ${meanwhile.length} turned away meanwhile, ` +
      `slowest answer ${Math.round(slowest)} ms, accepted again after ${Math.round(recovery)} ms`,
  )
}

onServers('an event store that is away', () => {
  for (const [how, outage] of Object.entries(outages)) {
    test(`an event store that is ${how} for ${length / 1000} s costs no lead, no restart and no wrong answer`, (t) =>
      outlived(t, outage))
  }
})
