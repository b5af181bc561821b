import test, { type ExecutionContext } from 'ava'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { webhookClient } from '../../../adapters/webhook/client.js'
import { hostsFile } from '../../../adapters/webhook/addresses/hosts-file.js'
import { nameServers } from '../../../adapters/webhook/addresses/name-servers.js'
import { systemResolve, type Resolve, type Sources } from '../../../adapters/webhook/addresses/resolve.js'
import { openReceiver } from '../../kit/network/receiver.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { openNameServer } from './name-server.js'
import { noConnection, requestTo, slowTime } from './rows.js'

const ipv4 = '192.0.2.1'
const ipv6 = '2001:db8:0:0:0:0:0:1'
const serverFailure = 2

const names = {
  'both.test': { ipv4, ipv6 },
  'four.test': { ipv4 },
  'six.test': { ipv6 },
  'none.test': {},
  'broken.test': { fails: serverFailure },
  'healthy.test': { ipv4: '127.0.0.1' },
}

/**
 * Long enough for whoever answers on a machine that has other work to do, and how long a test waits for those that do
 * not.
 */
const patient = { timeout: 6_000, tries: 1 }

const asking = async (t: ExecutionContext): Promise<Resolve> => {
  const server = await openNameServer(names)
  t.teardown(server.close)
  return nameServers([server.address], patient)
}

const nobody: Resolve = () => Promise.resolve([])
const unasked: Resolve = (name) => Promise.reject(new Error(`${name} was asked for`))
const sources = (changed: Partial<Sources>): Sources => ({
  local: unasked,
  hosts: nobody,
  servers: unasked,
  ...changed,
})

/** Names whose servers do not answer: far more than libuv has threads. */
const silent = Array.from({ length: 100 }, (_, n) => `silent-${n}.test`)

test('a name is looked up for its IPv4 and its IPv6 addresses', async (t) => {
  const servers = await asking(t)
  t.deepEqual(await servers('both.test'), [
    { address: ipv4, family: 4 },
    { address: '2001:db8::1', family: 6 },
  ])
  t.deepEqual(await servers('four.test'), [{ address: ipv4, family: 4 }])
  t.deepEqual(await servers('FOUR.test.'), [{ address: ipv4, family: 4 }])
  t.deepEqual(await servers('six.test'), [{ address: '2001:db8::1', family: 6 }])
})

test('a look-up tells a name without an address from one that no server can look up', async (t) => {
  const servers = await asking(t)
  for (const name of ['none.test', 'unknown.test']) await t.throwsAsync(servers(name), { code: 'ENOTFOUND' }, name)
  for (const name of ['broken.test', 'silent.test']) await t.throwsAsync(servers(name), { code: 'EAI_AGAIN' }, name)
})

test('names whose servers do not answer delay no other look-up, nor anything else that takes a thread', async (t) => {
  const resolve = systemResolve(sources({ servers: await asking(t) }))
  let ended = 0
  const waiting = silent.map((name) => resolve(name).catch(() => (ended += 1)))
  t.deepEqual(await resolve('healthy.test'), [{ address: '127.0.0.1', family: 4 }])
  t.true((await systemResolve()('localhost')).length > 0)
  await readFile(import.meta.filename)
  t.is(ended, 0)
  await Promise.all(waiting)
  t.is(ended, silent.length)
})

test('a webhook gets its post at once while a hundred wait for their names', async (t) => {
  const receiver = await openReceiver()
  const resolve = systemResolve(sources({ servers: await asking(t) }))
  const client = webhookClient({ allowPrivate: true, resolve, monotonic: slowTime })
  t.teardown(async () => {
    client.close()
    await receiver.close()
  })
  let ended = 0
  const waiting = silent.map((name) =>
    client.send(requestTo(`http://${name}/`), new AbortController().signal).finally(() => (ended += 1)),
  )
  const { delivered } = await client.send(
    requestTo(receiver.url.replace('127.0.0.1', 'healthy.test')),
    new AbortController().signal,
  )
  t.true(delivered)
  t.is(ended, 0)
  const reasons = new Set((await Promise.all(waiting)).map(({ reason }) => reason))
  t.deepEqual(
    [...reasons].filter((reason) => ![noConnection, 'no response (EAI_AGAIN)'].includes(reason)),
    [],
  )
})

test('the hosts file goes before the name servers, and local names are looked up by the system', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'hosts')
  await writeFile(
    path,
    [
      '# 192.0.2.9 both.test',
      '192.0.2.7\tcrm.example.com  CRM2.example.com # both.test',
      '::1 crm.example.com',
      'x y.test',
      '',
    ].join('\r\n'),
  )
  const local: Resolve = () => Promise.resolve([{ address: '127.0.0.9', family: 4 }])
  const resolve = systemResolve({ local, hosts: hostsFile(path), servers: await asking(t) })
  for (const name of ['crm.example.com', 'crm.example.com.']) {
    t.deepEqual(await resolve(name), [
      { address: '192.0.2.7', family: 4 },
      { address: '::1', family: 6 },
    ])
  }
  t.deepEqual(await resolve('crm2.example.com'), [{ address: '192.0.2.7', family: 4 }])
  t.is((await resolve('both.test')).length, 2)
  for (const name of ['localhost', 'localhost.', 'crm', 'receiver.local', 'host.docker.internal']) {
    t.deepEqual(await resolve(name), [{ address: '127.0.0.9', family: 4 }], name)
  }
  t.deepEqual(await hostsFile(join(directory, 'none'))('crm.example.com'), [])
})

test('attempts that need the same name at the same time share one look-up, and later ones make another', async (t) => {
  const asked: Array<string> = []
  const servers: Resolve = (name) => {
    asked.push(name)
    return name === 'none.test'
      ? Promise.reject(new Error('no address'))
      : Promise.resolve([{ address: ipv4, family: 4 }])
  }
  const resolve = systemResolve(sources({ servers }))
  for (const again of [1, 2]) {
    const [first, other, second] = [resolve('one.test'), resolve('two.test'), resolve('one.test')]
    t.is(first, second)
    await Promise.all([first, other])
    await Promise.all([t.throwsAsync(resolve('none.test')), t.throwsAsync(resolve('none.test'))])
    t.deepEqual(asked, Array.from({ length: again }, () => ['one.test', 'two.test', 'none.test']).flat())
  }
})
