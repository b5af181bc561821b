import test, { type ExecutionContext } from 'ava'
import { having, namedIn, sendJson, type Answer, type Managed } from '../kit/network/http.js'
import { openTrap, type Trap } from '../kit/network/trap.js'
import { forbiddenHosts, forbiddenNames, forbiddenTexts } from '../kit/network/webhook-hosts.js'
import { manage, openAccount, type Account } from '../kit/service/account.js'
import { openDataDirectory } from '../kit/service/data-directory.js'
import { lead } from '../kit/service/leads.js'
import { openService, type Service } from '../kit/service/in-process-service.js'
import { until } from '../kit/time/until.js'

const notPublic = 'the address is not public'
const token = 'hook-token'

/** Hosts that lead to this machine, where they are allowed. */
const reachable = ['127.0.0.1', '0x7f.1', '2130706433', 'localhost', 'LocalHost']

const isLocalhost = (name: string): boolean => new URL(`http://${name}`).hostname === 'localhost'

/** Only names that no name server is asked for: what it would answer is tested at the sender. */
const hosts = [...forbiddenHosts, ...forbiddenNames.filter(isLocalhost)]

type Target = { readonly url: string; readonly webhookId: string; readonly account: Account }

let trap: Trap
let service: Service
/** One alone may not have as many webhooks. */
let accounts: ReadonlyArray<Account>
let targets: ReadonlyArray<Target>
/** Connections before private addresses were forbidden. */
let before: number

const urlOf = (host: string, n: number): string => `${n % 2 === 0 ? 'http' : 'https'}://${host}:${trap.port}/hook`

const inAccount = (method: string, path: string, body?: unknown, id = accounts[0]?.id): Promise<Answer> =>
  manage(service, method, `/accounts/${id}${path}`, body)

const directory = openDataDirectory()

/**
 * Webhooks that were saved while private addresses were allowed, and a delivery that is due to each, now that they are
 * not.
 */
test.before(async () => {
  trap = await openTrap()
  const allowing = await openService(directory.path)
  const first = await openAccount(allowing)
  accounts = [first, await openAccount(allowing), await openAccount(allowing), await openAccount(allowing)]
  for (const host of reachable) {
    const id = await first.addWebhook({ url: `http://${host}:${trap.port}/hook`, token, events: ['sold'] })
    await first.manage('POST', `/webhooks/${id}/test`)
  }
  before = trap.seen()
  targets = await Promise.all(
    hosts.map(urlOf).map(async (url, n) => {
      const account = accounts[n % accounts.length] ?? first
      return { url, account, webhookId: await account.addWebhook({ url, token }) }
    }),
  )
  await allowing.stop()
  service = await openService(directory.path, { allowPrivateWebhooks: false })
  for (const { postUrl } of accounts) await sendJson(postUrl.replace(allowing.url, service.url), 'POST', lead())
})

test.after.always(async () => {
  await service.stop()
  await trap.close()
  await directory.remove()
})

/**
 * What was seen of each target, by its URL. One after the other: all at once would keep the service from its
 * deliveries.
 */
const ofEach = async <Seen>(look: (target: Target) => Promise<Seen>): Promise<Readonly<Record<string, Seen>>> => {
  const seen: Record<string, Seen> = {}
  for (const target of targets) seen[target.url] = await look(target)
  return seen
}

const each = <Seen>(seen: Seen): Readonly<Record<string, Seen>> =>
  Object.fromEntries(targets.map(({ url }) => [url, seen]))

const attemptedDelivery = async ({ url, webhookId, account }: Target): Promise<Managed> => {
  const [found] = await until(
    `an attempt to ${url}`,
    60_000,
    async () =>
      having(await inAccount('GET', `/webhooks/${webhookId}/deliveries`, undefined, account.id), 'deliveries'),
    ([delivery]) => Number(delivery?.['attempts']) >= 1,
  )
  return found as Managed
}

const isUnseen = (t: ExecutionContext): void => {
  t.is(before, reachable.length, 'the socket sees what is allowed')
  t.is(trap.seen(), before)
  t.true(targets.length >= 200)
}

test('no webhook is saved that leads to a special address', async (t) => {
  const good = having(
    await inAccount('POST', '/webhooks', { url: 'https://8.8.8.8/hook', token, events: ['sold'] }),
    'webhook',
  )
  const urls = [...hosts, ...forbiddenNames].map(urlOf)
  for (const url of [...urls, ...forbiddenTexts]) {
    for (const [method, path] of [
      ['POST', '/webhooks'],
      ['PATCH', `/webhooks/${good.id}`],
    ] as const) {
      const answer = await inAccount(method, path, { url, token })
      t.is(answer.status, 400, `${method} ${url}`)
      t.deepEqual(namedIn(answer), ['url'], `${method} ${url}`)
    }
  }
  const saved = having(await inAccount('GET', '/webhooks'), 'webhooks')
  t.is(saved.length, reachable.length + targets.filter(({ account }) => account === accounts[0]).length + 1)
  t.is(saved.find(({ id }) => id === good.id)?.['url'], 'https://8.8.8.8/hook')
  isUnseen(t)
})

test('no test goes to a special address', async (t) => {
  const tested = await ofEach(
    async ({ webhookId, account }) =>
      (await inAccount('POST', `/webhooks/${webhookId}/test`, undefined, account.id)).body,
  )
  t.deepEqual(tested, each({ delivered: false, status: null, error: notPublic }))
  isUnseen(t)
})

test('no delivery goes to a special address', async (t) => {
  const outcomes = await ofEach(async (target) => {
    const { state, last_outcome } = await attemptedDelivery(target)
    const { status, reason } = last_outcome as { readonly status: unknown; readonly reason: unknown }
    return { state, status, reason }
  })
  t.deepEqual(outcomes, each({ state: 'due', status: null, reason: notPublic }))
  isUnseen(t)
})

test('no resend goes to a special address', async (t) => {
  const resends = await ofEach(async (target) => {
    const { id } = await attemptedDelivery(target)
    const path = `/webhooks/${target.webhookId}/deliveries/${id}`
    const { status: answered } = await inAccount('POST', `${path}/resend`, undefined, target.account.id)
    const resent = await until(`a resend to ${target.url}`, 60_000, async () => {
      const { log = [] } = having(await inAccount('GET', path, undefined, target.account.id), 'delivery')
      return log.find(({ type }) => type === 'DeliveryResent')
    })
    const { outcome } = resent ?? {}
    return { answered, delivered: resent?.['delivered'], status: outcome?.['status'], reason: outcome?.['reason'] }
  })
  t.deepEqual(resends, each({ answered: 202, delivered: false, status: null, reason: notPublic }))
  isUnseen(t)
})
