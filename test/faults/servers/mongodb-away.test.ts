import test, { type ExecutionContext } from 'ava'
import { addressOf } from '../../kit/service/service-process.js'
import { isWholeInTheEnd, onServers, openFleet } from '../../kit/load/fleet.js'
import { loadOn } from '../../kit/load/load.js'
import { hostOf, urlAt } from '../../kit/stores/mongo-url.js'
import { tcpProxy, type TcpProxy } from '../../kit/network/tcp-proxy.js'
import { sleep, until } from '../../kit/time/until.js'
import { between, oneSlowVendor, vendorsAt } from '../../kit/load/vendors.js'
import { operatorKey } from '../../kit/service/settings.js'
import { bearer, clientOf } from '../../kit/network/http.js'
import { finding, openLoadedAccount, type LoadedAccount, type Sending } from '../../kit/load/loaded-account.js'
import { missingFrom } from '../../kit/load/ledger.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { startReceiver } from '../../kit/load/load-receiver.js'

const outages: Readonly<Record<string, (proxy: TcpProxy) => Promise<void> | void>> = {
  gone: (proxy) => proxy.takeAway(),
  silent: (proxy) => proxy.silence(),
}

/** All in milliseconds; no limit is so short that a slow machine exceeds it. */
const length = 24_000
const longestSubmission = 15_000
const longestRead = 25_000
const longestRecovery = 150_000

type Read = { readonly path: string; readonly elapsed: number; readonly status: number; readonly retryAfter: unknown }

/** Reads that no stream can answer, again and again until the time is over. */
const readUntil = async (
  address: string,
  account: LoadedAccount,
  known: string,
  end: number,
): Promise<ReadonlyArray<Read>> => {
  const client = clientOf(address)
  const reads: Array<Read> = []
  const operator = { headers: bearer(operatorKey) }
  const customer = { headers: bearer(account.apiKey) }
  const manage = `/manage/v1/accounts/${account.id}`
  const all: ReadonlyArray<Sending> = [
    finding(account, known),
    ['/api/v3/conversions', customer],
    [`${manage}/webhooks`, operator],
    [`${manage}/marketing_sources`, operator],
  ]
  await Promise.all(
    all.map(async (one) => {
      while (performance.now() < end) {
        const sentAt = performance.now()
        const { status, headers } = await client.send(...one)
        reads.push({ path: one[0], elapsed: performance.now() - sentAt, status, retryAfter: headers['retry-after'] })
        await sleep(250)
      }
    }),
  )
  client.close()
  return reads
}

const outlived = async (t: ExecutionContext, begin: (proxy: TcpProxy) => Promise<void> | void): Promise<void> => {
  t.timeout(300_000)
  const fleet = await openFleet(t)
  const { url } = fleet.database
  const { host, port } = hostOf(url)
  const proxy = await tcpProxy(host, port)
  t.teardown(proxy.takeAway)
  await proxy.bringBack()
  const receiver = await startReceiver(t)
  const service = fleet.start({ MONGODB_URL: urlAt(url, proxy.port) })
  const address = await addressOf(service)
  const account = await openLoadedAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)))
  const { ledger } = load
  const vendors = vendorsAt(t, address, load, oneSlowVendor)
  await until('leads are accepted', 60_000, () => ledger.leads.length >= 30)
  const known = ledger.leads[0]?.submission.phone ?? ''

  await begin(proxy)
  const goneAt = performance.now()
  const reads = await readUntil(address, account, known, goneAt + length - 4_000)
  await sleep(goneAt + length - performance.now())
  const backAt = performance.now()
  await proxy.bringBack()
  const accepted = ledger.leads.length
  await until('more leads are accepted', 60_000, () => ledger.leads.length >= accepted + 30)
  await vendors.stop()

  const meanwhile = between(vendors.submitted, goneAt, backAt)
  t.true(meanwhile.length > 0, `${meanwhile.length} submissions meanwhile`)
  t.deepEqual(
    vendors.submitted.filter(({ status, elapsed }) => status !== 200 || elapsed > longestSubmission),
    [],
  )
  t.deepEqual(
    reads.filter(({ status, retryAfter, elapsed }) => status !== 503 || retryAfter !== '1' || elapsed > longestRead),
    [],
  )
  const paths = [...new Set(reads.map(({ path }) => path))]
  const counts = paths.map((path) => reads.filter((one) => one.path === path).length)
  t.true(counts.length === 4 && Math.min(...counts) > 0, counts.join())

  const client = clientOf(address)
  const last = ledger.leads[accepted - 1]?.submission.phone ?? ''
  const isFound = async (): Promise<boolean> => (await client.send(...finding(account, last))).status === 200
  await until('a lead that was accepted meanwhile is found', longestRecovery, isFound)
  client.close()
  t.deepEqual(await missingFrom(address, account, ledger), [])
  await isWholeInTheEnd(t, fleet, address, receiver, ledger)
  t.deepEqual(service.logged(), [], 'it never ended')
  const slowest = (all: ReadonlyArray<{ readonly elapsed: number }>): number =>
    Math.round(Math.max(...all.map(({ elapsed }) => elapsed)))
  t.log(
    `${ledger.leads.length} leads accepted, ${meanwhile.length} of them meanwhile, ` +
      `slowest submission ${slowest(vendors.submitted)} ms, slowest read ${slowest(reads)} ms`,
  )
}

onServers('a MongoDB that is away', () => {
  for (const [how, begin] of Object.entries(outages)) {
    test(`a MongoDB that is ${how} for ${length / 1000} s costs no lead, no delivery and no restart`, (t) =>
      outlived(t, begin))
  }
})
