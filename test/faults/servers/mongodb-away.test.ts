import test, { type ExecutionContext } from 'ava'
import { addressOf, operatorKey } from '../../kit/service/service-process.js'
import { isWhole, onServers, openFleet } from '../../kit/load/fleet.js'
import {
  clientOf,
  finding,
  loadOn,
  missingFrom,
  openAccount,
  randomFrom,
  seedOf,
  startReceiver,
  type Account,
} from '../../kit/load/load.js'
import { addressOf as serverOf, urlAt } from '../../kit/stores/mongodb.js'
import { tcpProxy, type TcpProxy } from '../../kit/network/tcp-proxy.js'
import { passed, until } from '../../kit/time/until.js'
import { between, vendorsAt } from '../../kit/load/vendors.js'

const outages: Readonly<Record<string, (proxy: TcpProxy) => Promise<void> | void>> = {
  gone: (proxy) => proxy.takeAway(),
  silent: (proxy) => proxy.silence(),
}

/** All in milliseconds. */
const length = 30_000
const longestSubmission = 3_000
const longestRead = 12_000
const longestRecovery = 60_000

type Read = { readonly path: string; readonly took: number; readonly status: number; readonly retryAfter: unknown }

/** Reads that no stream can answer, again and again until the time is over. */
const readUntil = async (
  address: string,
  account: Account,
  known: string,
  end: number,
): Promise<ReadonlyArray<Read>> => {
  const client = clientOf(address)
  const reads: Array<Read> = []
  const operator = { headers: { authorization: `Bearer ${operatorKey}` } }
  const customer = { headers: { authorization: `Bearer ${account.apiKey}` } }
  const manage = `/manage/v1/accounts/${account.id}`
  const all: ReadonlyArray<Parameters<typeof client.send>> = [
    finding(account, known),
    ['GET', '/api/v3/conversions', customer],
    ['GET', `${manage}/webhooks`, operator],
    ['GET', `${manage}/marketing_sources`, operator],
  ]
  await Promise.all(
    all.map(async (one) => {
      while (performance.now() < end) {
        const sentAt = performance.now()
        const { status, headers } = await client.send(...one)
        reads.push({ path: one[1], took: performance.now() - sentAt, status, retryAfter: headers['retry-after'] })
        await passed(250)
      }
    }),
  )
  client.close()
  return reads
}

const outlived = async (t: ExecutionContext, begin: (proxy: TcpProxy) => Promise<void> | void): Promise<void> => {
  t.timeout(120_000)
  const fleet = await openFleet(t)
  const { url } = fleet.database
  const { host, port } = serverOf(url)
  const proxy = await tcpProxy(host, port)
  t.teardown(proxy.takeAway)
  await proxy.bringBack()
  const receiver = await startReceiver(t)
  const service = fleet.start({ logLevel: 'fatal', environment: { MONGODB_URL: urlAt(url, proxy.port) } })
  const address = await addressOf(t, service)
  const account = await openAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)))
  const { ledger } = load
  // So few that FerretDB, which writes some hundred documents a second, catches up soon.
  const vendors = vendorsAt(address, load, { vendors: 2, pause: 120 })
  await until('leads are accepted', 10_000, () => ledger.leads.length >= 60)
  const known = ledger.leads[0]?.submission.phone ?? ''

  await begin(proxy)
  const goneAt = performance.now()
  const reads = await readUntil(address, account, known, goneAt + length - longestRead)
  await passed(goneAt + length - performance.now())
  const backAt = performance.now()
  await proxy.bringBack()
  const accepted = ledger.leads.length
  await until('more leads are accepted', 20_000, () => ledger.leads.length >= accepted + 60)
  await vendors.stop()

  const meanwhile = between(vendors.submitted, goneAt, backAt)
  t.true(meanwhile.length > 50, `${meanwhile.length} submissions meanwhile`)
  t.deepEqual(
    vendors.submitted.filter(({ status, took }) => status !== 200 || took > longestSubmission),
    [],
  )
  t.deepEqual(
    reads.filter(({ status, retryAfter, took }) => status !== 503 || retryAfter !== '1' || took > longestRead),
    [],
  )
  const paths = [...new Set(reads.map(({ path }) => path))]
  const counts = paths.map((path) => reads.filter((one) => one.path === path).length)
  t.true(counts.length === 4 && Math.min(...counts) > 2, counts.join())

  const client = clientOf(address)
  const last = ledger.leads[accepted - 1]?.submission.phone ?? ''
  const isFound = async (): Promise<boolean> => (await client.send(...finding(account, last))).status === 200
  await until('a lead that was accepted meanwhile is found', longestRecovery, isFound)
  client.close()
  t.deepEqual(await missingFrom(address, account, ledger), [])
  await isWhole(t, fleet, address, receiver, ledger)
  t.deepEqual(service.logged(), [], 'it never ended')
  const slowest = (all: ReadonlyArray<{ readonly took: number }>): number =>
    Math.round(Math.max(...all.map(({ took }) => took)))
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
