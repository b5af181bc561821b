import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { BlockList, createServer, isIP, type AddressInfo } from 'node:net'
import { isPublicAddress } from '../../../adapters/webhook/addresses/public-address.js'
import { webhookClient, type WebhookClientOptions } from '../../../adapters/webhook/client.js'
import type { Resolve } from '../../../adapters/webhook/addresses/resolve.js'
import { webhookUrlProblem } from '../../../adapters/webhook/addresses/url-problem.js'
import type { WebhookResponse, WebhookClient } from '../../../projections/delivery/webhook-client.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { holds } from '../../kit/domain/property.js'
import { openTrap, type Trap } from '../../kit/network/trap.js'
import { nextTurn } from '../../kit/time/turns.js'
import { slowTime } from './rows.js'
import {
  asHost,
  forbiddenAddresses,
  forbiddenAnswers,
  forbiddenHosts,
  forbiddenNames,
  forbiddenTexts,
  publicAddresses,
  publicUrls,
} from '../../kit/network/webhook-hosts.js'

const forbidden: ReadonlyArray<string> = Object.values(forbiddenAddresses).flat()

const answering =
  (...addresses: ReadonlyArray<string>): Resolve =>
  () =>
    Promise.resolve(addresses.map((address): LookupAddress => ({ address, family: isIP(address) === 6 ? 6 : 4 })))

const toPublic = answering('93.184.215.14')
const toLoopback = answering('127.0.0.1')
const neverAnswering: Resolve = () => new Promise(() => undefined)

/** Everything that is not undefined, by the text that it came from. */
const problemsOf = async (
  texts: ReadonlyArray<string>,
  problemOf: (text: string) => Promise<string | undefined>,
): Promise<Readonly<Record<string, string | undefined>>> =>
  Object.fromEntries(await Promise.all(texts.map(async (text) => [text, await problemOf(text)] as const)))

const each = <A>(texts: ReadonlyArray<string>, value: A): Readonly<Record<string, A>> =>
  Object.fromEntries(texts.map((text) => [text, value]))

const toPrivate = 'must not lead to a private address'

test('a webhook may not lead to a special address, however its URL writes it', async (t) => {
  const texts = forbiddenHosts.map((host) => `http://${host}/hook`)
  const problems = await problemsOf(texts, (text) => webhookUrlProblem(text, false, neverAnswering))
  t.deepEqual(problems, each(texts, toPrivate))
  t.true(texts.length >= 200)
})

test('names of a local network are refused without being looked up', async (t) => {
  const texts = forbiddenNames.map((host) => `https://${host}:8443/hook`)
  t.deepEqual(await problemsOf(texts, (text) => webhookUrlProblem(text, false, toPublic)), each(texts, toPrivate))
})

test('a name may not lead to a special address, whatever else it leads to', async (t) => {
  const answers = [...forbidden, ...forbiddenAnswers]
  const orders = [
    (address: string) => answering(address),
    (address: string) => answering('8.8.8.8', address),
    (address: string) => answering(address, '8.8.8.8'),
    (address: string) => answering('8.8.8.8', '2606:4700:4700::1111', address, '1.1.1.1'),
  ]
  for (const order of orders) {
    const problems = await problemsOf(answers, (one) =>
      webhookUrlProblem('https://hooks.example.com/', false, order(one)),
    )
    t.deepEqual(problems, each(answers, toPrivate))
  }
})

test('what is no http or https URL, or holds credentials, is no webhook, wherever webhooks may lead to', async (t) => {
  for (const allowPrivate of [false, true]) {
    const problems = await problemsOf(forbiddenTexts, (text) => webhookUrlProblem(text, allowPrivate, toPublic))
    const expected = forbiddenTexts.map((text) => {
      const holdsCredentials = URL.canParse(text) && new URL(text).username + new URL(text).password !== ''
      return [text, holdsCredentials ? 'must not hold credentials' : 'must be an http or https URL']
    })
    t.deepEqual(problems, Object.fromEntries(expected))
  }
})

test('any other address and name may be a webhook', async (t) => {
  const texts = [...publicAddresses.map((address) => `https://${asHost(address)}/hook`), ...publicUrls]
  const problems = await problemsOf(texts, (text) => webhookUrlProblem(text, false, toPublic))
  t.deepEqual(problems, each(texts, undefined))
  t.true(texts.length >= 40)
  const answers = await problemsOf(publicAddresses, (address) =>
    webhookUrlProblem('https://hooks.example.com/', false, answering(address, '1.1.1.1')),
  )
  t.deepEqual(answers, each(publicAddresses, undefined))
})

test('a name that does not resolve, or not in time, is left to the first attempt', async (t) => {
  const failing: Resolve = () => Promise.reject(new Error('not found'))
  t.is(await webhookUrlProblem('https://hooks.example.com/', false, failing), undefined)
  t.is(await webhookUrlProblem('https://hooks.example.com/', false, answering()), undefined)
  const time = manualTime()
  const answers: Array<string | undefined> = []
  const asked = webhookUrlProblem('https://hooks.example.com/', false, neverAnswering, time.process())
  const done = asked.then((answer) => answers.push(answer))
  await time.advance(2_999)
  await nextTurn()
  t.deepEqual(answers, [])
  await time.advance(1)
  await done
  t.deepEqual(answers, [undefined])
})

test('where private addresses are allowed, any address and name may be a webhook', async (t) => {
  const hosts = [...forbiddenHosts, ...forbiddenNames]
  const texts = hosts.map((host) => `http://${host}/hook`)
  t.deepEqual(await problemsOf(texts, (text) => webhookUrlProblem(text, true, toLoopback)), each(texts, undefined))
})

test("an IPv4 address is public unless IANA's registry of special addresses, or that of multicast, holds it", (t) => {
  const special = new BlockList()
  const ranges = [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
    ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
  ]
  const starts = ranges.map((range) => {
    const [start = '', bits] = range.split('/')
    special.addSubnet(start, Number(bits))
    return Buffer.from(start.split('.').map(Number)).readUInt32BE()
  })
  const byte = fc.nat(255)
  const anywhere = fc.tuple(byte, byte, byte, byte)
  const besideRanges = fc.tuple(fc.constantFrom(...starts), fc.integer({ min: -300, max: 300 })).map(([start, by]) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE((start + by) >>> 0)
    return [...bytes]
  })
  const property = fc.property(fc.oneof(anywhere, besideRanges), (bytes) => {
    const address = bytes.join('.')
    assert.equal(isPublicAddress(address), !special.check(address), address)
    const inside = Buffer.from(bytes)
      .toString('hex')
      .replace(/^(.{4})/, '$1:')
    for (const carrier of ['::ffff:', '64:ff9b::', '2400::5efe:', '2400::200:5efe:']) {
      assert.equal(isPublicAddress(`${carrier}${inside}`), isPublicAddress(address), `${carrier}${address}`)
    }
    for (const prefix of ['::', '64:ff9b:1::', '::ffff:0:', 'fe80::5efe:']) {
      assert.equal(isPublicAddress(`${prefix}${inside}`), false, `${prefix}${address}`)
    }
    assert.equal(isPublicAddress(`2002:${inside}::1`), false)
  })
  holds(t, property, { numRuns: 2_000 })
})

test("an IPv6 address is public when it is global unicast and IANA's registry does not hold it", (t) => {
  const special = new BlockList()
  const ranges = [
    ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20', '3ffe::/16'],
    ...['::/3', '4000::/2', '8000::/1'],
  ]
  for (const range of ranges) {
    const [start = '', bits] = range.split('/')
    special.addSubnet(start, Number(bits), 'ipv6')
  }
  const part = fc.nat(0xffff)
  const first = fc.oneof(part, fc.constantFrom(0x2000, 0x2001, 0x2002, 0x2003, 0x2620, 0x3ffe, 0x3fff, 0x4000, 0x1fff))
  const second = fc.oneof(part, fc.constantFrom(0, 0x1ff, 0x200, 0xdb7, 0xdb8, 0xdb9, 0x4e, 0x4f, 0x50, 0xfff, 0x1000))
  const third = fc.oneof(part, fc.constantFrom(0x7fff, 0x8000, 0x8001))
  const property = fc.property(fc.tuple(first, second, third, part, part, part, part, part), (parts) => {
    fc.pre(parts[5] !== 0x5efe)
    const address = parts.map((one) => one.toString(16)).join(':')
    assert.equal(isPublicAddress(address), !special.check(address, 'ipv6'), address)
  })
  holds(t, property, { numRuns: 5_000 })
})

const trapFor = async (t: ExecutionContext): Promise<Trap> => {
  const trap = await openTrap()
  t.teardown(trap.close)
  return trap
}

const openClient = (t: ExecutionContext, options: WebhookClientOptions): WebhookClient => {
  const client = webhookClient({ monotonic: slowTime, ...options })
  t.teardown(client.close)
  return client
}

const requestTo = (url: string) => ({ url, token: 'token-1', body: '{}', id: 'dlv_1', timestamp: 1, signature: '' })

/** How many at once: each would open a connection, were it not refused. */
const atOnce = 50

const sentTo = async (
  urls: ReadonlyArray<string>,
  send: (url: string) => Promise<WebhookResponse>,
): Promise<Readonly<Record<string, string>>> => {
  const reasons: Array<readonly [string, string]> = []
  for (let from = 0; from < urls.length; from += atOnce) {
    const some = urls.slice(from, from + atOnce)
    reasons.push(...(await Promise.all(some.map(async (url) => [url, (await send(url)).reason] as const))))
  }
  return Object.fromEntries(reasons)
}

const notPublic = 'the address is not public'

test('nothing is posted to a special address, however the URL writes it', async (t) => {
  const trap = await trapFor(t)
  const client = openClient(t, { allowPrivate: false, resolve: toLoopback })
  const hosts = [...forbiddenHosts, ...forbiddenNames]
  const urls = hosts.flatMap((host, n) => `${n % 2 === 0 ? 'http' : 'https'}://${host}:${trap.port}/hook`)
  t.deepEqual(
    await sentTo(urls, (url) => client.send(requestTo(url), new AbortController().signal)),
    each(urls, notPublic),
  )
  t.is(trap.seen(), 0)

  const texts = forbiddenTexts.filter((text) => !URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
  const refused = await sentTo(texts, (url) => client.send(requestTo(url), new AbortController().signal))
  t.deepEqual(refused, each(texts, 'not an http or https URL'))
})

test('nothing is posted to a name that leads to a special address, whatever else it leads to', async (t) => {
  const trap = await trapFor(t)
  for (const beside of [[], ['8.8.8.8'], ['127.0.0.1', '2606:4700:4700::1111']]) {
    const answers = [...forbidden, ...forbiddenAnswers]
    const reasons = await sentTo(answers, (address) => {
      const client = openClient(t, { allowPrivate: false, resolve: answering(...beside, address) })
      return client.send(requestTo(`http://hooks.example.com:${trap.port}/`), new AbortController().signal)
    })
    t.deepEqual(reasons, each(answers, notPublic))
  }
  t.is(trap.seen(), 0)
})

test('a name that leads elsewhere after it was saved gains nothing', async (t) => {
  const trap = await trapFor(t)
  let asked = 0
  const rebinding: Resolve = (host) => {
    asked += 1
    return (asked === 1 ? toPublic : toLoopback)(host)
  }
  const url = `http://hooks.example.com:${trap.port}/`
  t.is(await webhookUrlProblem(url, false, rebinding), undefined)
  const client = openClient(t, { allowPrivate: false, resolve: rebinding })
  const { delivered, status, reason, times } = await client.send(requestTo(url), new AbortController().signal)
  t.deepEqual({ delivered, status, reason }, { delivered: false, status: null, reason: notPublic })
  t.like(times, { connect: null, tls: null, firstByte: null })
  t.is(asked, 2, 'one look-up for one connection')
  t.is(trap.seen(), 0)
})

test('the connection goes to the address that was looked at: the name is not asked for again', async (t) => {
  const trap = await trapFor(t)
  let asked = 0
  const rebinding: Resolve = (host) => {
    asked += 1
    return (asked === 1 ? toLoopback : answering('127.0.0.2'))(host)
  }
  const client = openClient(t, { allowPrivate: true, resolve: rebinding })
  const { delivered } = await client.send(
    requestTo(`http://hooks.example.com:${trap.port}/`),
    new AbortController().signal,
  )
  t.true(delivered)
  t.is(asked, 1)
  t.is(trap.seen(), 1)
})

test('of several addresses the next one is tried where one refuses', async (t) => {
  const server = createServer((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = openClient(t, { allowPrivate: true, resolve: answering('127.0.0.1', '127.0.0.2') })
  t.like(await client.send(requestTo(`http://hooks.example.com:${port}/`), new AbortController().signal), {
    delivered: true,
    status: 204,
  })
})
