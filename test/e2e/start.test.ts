import test, { type ExecutionContext } from 'ava'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request as openRequest } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { configFrom } from '../../app/composition/config.js'
import { E } from '../../domain/prelude.js'
import { send, sendJson, type Answer } from '../kit/network/http.js'
import { lead, newPhone } from '../kit/service/leads.js'
import { openReceiver } from '../kit/network/receiver.js'
import {
  bearer,
  childEnvironment,
  having,
  idsOf,
  manage,
  newDataDir,
  openAccount,
  removeDataDir,
  startChild,
  type Child,
} from '../kit/service/service.js'

/** A process that ends with the test, whatever becomes of it. */
const start = (t: ExecutionContext, environment: Readonly<Record<string, string>>): Child => {
  const child = startChild(environment)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await child.exited
  })
  return child
}

const dataDirFor = (t: ExecutionContext): string => {
  const dataDir = newDataDir()
  t.teardown(() => removeDataDir(dataDir))
  return dataDir
}

const stopped = async (t: ExecutionContext, child: Child, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  child.kill(signal)
  t.deepEqual(await child.exited, { code: 0, signal: null }, child.stderr())
}

const wrongSettings: ReadonlyArray<readonly [string, string]> = [
  ['PORT', 'eighty'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PUBLIC_URL', 'leads.example.com'],
  ['PUBLIC_URL', 'ftp://leads.example.com'],
  ['PUBLIC_URL', 'https://leads.example.com/?a=1'],
  ['PUBLIC_URL', 'https://user:word@leads.example.com'],
  ['OPERATOR_KEY', 'short-key'],
  ['SECRET_KEY', 'not-thirty-two-bytes'],
  ['SECRET_KEY', randomBytes(31).toString('base64')],
  ['ALLOW_PRIVATE_WEBHOOKS', 'perhaps'],
  ['LOG_LEVEL', 'chatty'],
  ['CLOCK_RATE', 'fast'],
  ['CLOCK_RATE', '0'],
  ['CLOCK_RATE', '-2'],
  ['CLOCK_RATE', '1000001'],
  ['EVENTSTORE_URL', 'events.example.com:2113'],
  ['EVENTSTORE_URL', 'https://user:word@events.example.com'],
  ['EVENTSTORE_URL', 'kurrentdb://user:word@events.example.com'],
  ['MONGODB_URL', '127.0.0.1:27017'],
  ['MONGODB_URL', 'postgres://user:word@documents.example.com'],
  ['SMTP_URL', 'mail.example.com:587'],
  ['SMTP_URL', 'https://user:word@mail.example.com'],
  ['SMTP_URL', 'smtp:///mail'],
  ['SMTP_URL', 'smtp://user:wo%rd@mail.example.com'],
  ['SMTP_URL', 'smtp://mail.example.com?logger=true'],
  ['SMTP_URL', 'smtp://mail.example.com/inbox'],
  ['ROLES', 'delivery'],
  ['ROLES', 'api,projector'],
  ['ROLES', 'api,,delivery'],
  ['ROLES', 'projector;delivery'],
  ['ROLES', 'DELIVERY'],
  ['ROLES', 'api,reader'],
]

test('a wrong setting is one sentence that names it, and not its value', (t) => {
  for (const [name, value] of wrongSettings) {
    const config = configFrom({ [name]: value })
    const sentences = E.isLeft(config) ? config.left : []
    t.is(sentences.length, 1, `${name}=${value}`)
    t.regex(sentences[0] ?? '', new RegExp(`^${name} must be .+\\.$`))
    t.false(value.length > 3 && sentences[0]?.includes(value), `${name}=${value}`)
  }
})

test('settings are read as they are meant, and a blank one is unset', (t) => {
  const key = randomBytes(32)
  const config = configFrom({
    HOST: '0.0.0.0',
    PORT: ' 0 ',
    PUBLIC_URL: 'https://leads.example.com/base//',
    DATA_DIR: '/srv/leadloop',
    OPERATOR_KEY: 'sixteen-letters!',
    SECRET_KEY: key.toString('base64'),
    ALLOW_PRIVATE_WEBHOOKS: 'false',
    LOG_LEVEL: '  ',
    CLOCK_RATE: '0.5',
    HOME: '/root',
  })
  t.like(config, {
    right: {
      host: '0.0.0.0',
      port: 0,
      publicUrl: 'https://leads.example.com/base',
      dataDir: '/srv/leadloop',
      operatorKey: 'sixteen-letters!',
      allowPrivateWebhooks: false,
      logLevel: 'info',
      clockRate: 0.5,
    },
  })
  t.deepEqual(E.isRight(config) ? config.right.secretKey : undefined, key)
  t.like(configFrom({}), { right: { port: 8080, dataDir: './data', allowPrivateWebhooks: false, clockRate: 1 } })
})

const servers = {
  EVENTSTORE_URL: 'esdb://user:word@events.example.com:2113',
  MONGODB_URL: 'mongodb+srv://user:word@documents.example.com/leads',
}

test('the URLs of servers are taken as they stand, and unset ones are embedded stores', (t) => {
  t.like(configFrom(servers), { right: { eventStoreUrl: servers.EVENTSTORE_URL, mongoUrl: servers.MONGODB_URL } })
  t.like(configFrom({ EVENTSTORE_URL: 'esdb+discover://events.example.com', MONGODB_URL: ' mongodb://127.0.0.1 ' }), {
    right: { eventStoreUrl: 'esdb+discover://events.example.com', mongoUrl: 'mongodb://127.0.0.1' },
  })
  t.like(configFrom({ EVENTSTORE_URL: '', MONGODB_URL: ' ' }), {
    right: { eventStoreUrl: undefined, mongoUrl: undefined },
  })
})

test('a mail server is taken as it stands, with the options that are known', (t) => {
  for (const SMTP_URL of [
    'smtp://mail.example.com',
    'smtps://ada%40example.com:word@mail.example.com:465',
    'smtp://[::1]:2525/?requireTLS=true&tls.rejectUnauthorized=false',
  ]) {
    t.like(configFrom({ SMTP_URL }), { right: { smtpUrl: SMTP_URL } })
  }
  t.like(configFrom({}), { right: { smtpUrl: undefined } })
})

test('a process has the roles that are named, and all of them where none is', (t) => {
  const rolesFrom = (ROLES: string, urls: Partial<typeof servers> = servers): ReadonlyArray<string> => {
    const config = configFrom({ ...urls, ROLES })
    return E.isRight(config) ? [...config.right.roles].toSorted() : config.left
  }
  const all = ['api', 'delivery', 'projector']
  t.deepEqual(rolesFrom('api'), ['api'])
  t.deepEqual(rolesFrom(' delivery , projector,delivery '), ['delivery', 'projector'])
  t.deepEqual(rolesFrom(' '), all)
  t.deepEqual(rolesFrom('', {}), all)
  t.deepEqual(rolesFrom('delivery,api,projector', {}), all, 'who has all of them needs no others')
  const refused = ['ROLES must be left unset unless EVENTSTORE_URL and MONGODB_URL are both given.']
  const { EVENTSTORE_URL, MONGODB_URL } = servers
  for (const urls of [{}, { EVENTSTORE_URL }, { MONGODB_URL }]) t.deepEqual(rolesFrom('api', urls), refused)
})

test('every wrong setting stops the start at once, each with its own sentence', async (t) => {
  const dataDir = join(dataDirFor(t), 'data')
  const wrong = Object.fromEntries(wrongSettings)
  const child = start(t, { DATA_DIR: dataDir, ...wrong })
  t.deepEqual(await child.exited, { code: 1, signal: null })
  for (const [name, value] of Object.entries(wrong)) {
    t.regex(child.stderr(), new RegExp(`^leadloop can't start. ${name} must be `, 'm'))
    t.false(value.length > 3 && child.stderr().includes(value), name)
  }
  t.is(child.stderr().trim().split('\n').length, Object.keys(wrong).length)
  t.is(child.stdout(), '')
  t.false(existsSync(dataDir))
})

const refusal = async (t: ExecutionContext, environment: Readonly<Record<string, string>>): Promise<string> => {
  const child = start(t, environment)
  t.deepEqual(await child.exited, { code: 1, signal: null }, child.stderr())
  t.is(child.stderr().trim().split('\n').length, 1, child.stderr())
  return child.stderr()
}

test('a port that is taken stops the start with a sentence that names PORT', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  t.regex(
    await refusal(t, { ...childEnvironment(dataDirFor(t)), PORT: String(port) }),
    /^leadloop can't start. PORT: .*\.$/m,
  )
})

test('a host that is not of this machine stops the start with a sentence that names HOST', async (t) => {
  t.regex(
    await refusal(t, { ...childEnvironment(dataDirFor(t)), HOST: '203.0.113.77' }),
    /^leadloop can't start. .*\bHOST\b/m,
  )
})

test('a DATA_DIR that is no directory stops the start with a sentence that names it', async (t) => {
  const file = join(dataDirFor(t), 'file')
  writeFileSync(file, '')
  t.regex(await refusal(t, childEnvironment(file)), /^leadloop can't start. DATA_DIR: .*\.$/m)
  t.regex(await refusal(t, childEnvironment(join(file, 'data'))), /^leadloop can't start. DATA_DIR: .*\.$/m)
})

test('a second process on one DATA_DIR is refused with a sentence, and the first goes on', async (t) => {
  const dataDir = dataDirFor(t)
  const first = start(t, childEnvironment(dataDir))
  const site = { url: await first.listening }
  const account = await openAccount(site)
  t.regex(
    await refusal(t, childEnvironment(dataDir)),
    /^leadloop can't start. DATA_DIR: another process is using .*\.$/m,
  )
  t.is((await account.submit(lead())).status, 200)
  await stopped(t, first)
  const second = start(t, childEnvironment(dataDir))
  t.is((await manage({ url: await second.listening }, 'GET', `/accounts/${account.id}/conversions`)).status, 200)
})

test('a directory is free again when its process was killed', async (t) => {
  const dataDir = dataDirFor(t)
  const first = start(t, childEnvironment(dataDir))
  const account = await openAccount({ url: await first.listening })
  const { contact_id } = await account.submitted()
  first.kill('SIGKILL')
  await first.exited
  const second = start(t, childEnvironment(dataDir))
  const url = `${await second.listening}/api/v3/contacts/${contact_id}`
  t.is((await send(url, { headers: bearer(account.apiKey) })).status, 200)
})

test('another SECRET_KEY than the store was begun with is refused, and the right one opens it', async (t) => {
  const dataDir = dataDirFor(t)
  const [right, wrong] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  const first = start(t, { ...childEnvironment(dataDir), SECRET_KEY: right })
  const account = await openAccount({ url: await first.listening })
  await stopped(t, first)
  t.false(existsSync(join(dataDir, 'secret-key')))
  for (const secret of [{ SECRET_KEY: wrong }, {}]) {
    const said = await refusal(t, { ...childEnvironment(dataDir), ...secret })
    t.regex(said, /^leadloop can't start. SECRET_KEY: .*\.$/m)
    t.false(said.includes(wrong) || said.includes(right))
  }
  rmSync(join(dataDir, 'secret-key'), { force: true })
  const second = start(t, { ...childEnvironment(dataDir), SECRET_KEY: right })
  const url = `${await second.listening}/api/v3/conversions`
  t.is((await send(url, { headers: bearer(account.apiKey) })).status, 200)
})

test('a secret-key file that is no key stops the start with a sentence that names it', async (t) => {
  const dataDir = dataDirFor(t)
  writeFileSync(join(dataDir, 'secret-key'), 'not a key\n')
  const said = await refusal(t, childEnvironment(dataDir))
  t.regex(said, /^leadloop can't start. .*(SECRET_KEY|secret-key).*\.$/m)
})

test('the first start makes both keys, with mode 0600, and says the operator key once', async (t) => {
  const dataDir = join(dataDirFor(t), 'made', 'data')
  const { OPERATOR_KEY: _given, ...environment } = childEnvironment(dataDir)
  const first = start(t, environment)
  const url = await first.listening
  const keyIn = (name: string): string => readFileSync(join(dataDir, name), 'utf8').trim()
  for (const name of ['secret-key', 'operator-key']) t.is(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
  const [secret, operator] = [keyIn('secret-key'), keyIn('operator-key')]
  const opened = await send(`${url}/manage/v1/accounts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(operator) },
    body: '{"title":"x"}',
  })
  t.is(opened.status, 201)
  await stopped(t, first)
  t.is(first.stderr().split(operator).length - 1, 1)
  const second = start(t, environment)
  t.is((await send(`${await second.listening}/health/live`)).status, 200)
  await stopped(t, second)
  t.deepEqual([keyIn('secret-key'), keyIn('operator-key')], [secret, operator])
  t.false(second.stderr().includes(operator))
  for (const text of [first.stdout(), first.stderr(), second.stdout(), second.stderr()]) t.false(text.includes(secret))
  for (const text of [first.stdout(), second.stdout()]) t.false(text.includes(operator))
})

/** A line of curl as the welcome shows it: everything that matters stands in single quotes. */
const runCurl = (line: string): Promise<Answer> => {
  const quoted = [...line.matchAll(/'([^']*)'/g)].map(([, text]) => text ?? '')
  const [url = '', ...rest] = quoted
  const headers = Object.fromEntries(
    rest
      .filter((text) => /^[A-Z][\w-]*: /.test(text))
      .map((text) => [text.split(': ', 1)[0] ?? '', text.replace(/^[\w-]*: /, '')]),
  )
  const body = rest.find((text) => text.startsWith('{'))
  return send(url, { method: body === undefined ? 'GET' : 'POST', headers, ...(body === undefined ? {} : { body }) })
}

test('the three lines of curl that a first start shows close the loop', async (t) => {
  const child = start(t, childEnvironment(dataDirFor(t)))
  await child.listening
  const lines = child
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('curl '))
  t.is(lines.length, 3)
  const [submitted, found, sold] = [
    await runCurl(lines[0] ?? ''),
    await runCurl(lines[1] ?? ''),
    await runCurl(lines[2] ?? ''),
  ]
  t.is(submitted.status, 200)
  t.is(having(found, 'contact').id, having(submitted, 'contact_id'))
  t.is(sold.status, 201)
  t.is(having(sold, 'conversion_contact').contact_id, having(submitted, 'contact_id'))
})

test('what a person is told stands on standard error, and the log on standard output in JSON lines', async (t) => {
  const child = start(t, { ...childEnvironment(dataDirFor(t)), LOG_LEVEL: 'debug' })
  const account = await openAccount({ url: await child.listening })
  await account.submitted()
  await stopped(t, child)
  const lines = child
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
  t.true(lines.length > 0)
  for (const line of lines) t.notThrows(() => JSON.parse(line) as unknown, line)
})

test('SIGTERM and SIGINT end an idle service at once, with connections kept open', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const child = start(t, childEnvironment(dataDirFor(t)))
    const url = await child.listening
    t.is((await send(`${url}/health/live`)).status, 200)
    const begun = performance.now()
    await stopped(t, child, signal)
    t.true(performance.now() - begun < 5_000, signal)
    await t.throwsAsync(send(`${url}/health/live`), undefined, signal)
  }
})

test('SIGTERM answers what is under way, takes nothing new, and loses nothing', async (t) => {
  const dataDir = dataDirFor(t)
  const child = start(t, childEnvironment(dataDir))
  const account = await openAccount({ url: await child.listening })
  const phones = Array.from({ length: 150 }, newPhone)

  const body = JSON.stringify(lead())
  const slow = new Promise<number>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
    const request = openRequest(account.postUrl, { method: 'POST', headers }, (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode ?? 0)
      })
    })
    request.once('error', reject)
    request.write(body.slice(0, 50), () => {
      setTimeout(() => request.end(body.slice(50)), 400)
    })
  })
  const answers = phones.map((phone) => account.submit(lead({ phone })).catch(() => undefined))
  await Promise.race(answers)
  child.kill('SIGTERM')
  const taken = (await Promise.all(answers)).map((answer) => answer?.status)
  t.is(await slow, 200)
  t.deepEqual(await child.exited, { code: 0, signal: null })
  const accepted = phones.filter((_, index) => taken[index] === 200)
  t.true(accepted.length > 0)
  t.true(
    taken.every((status) => status === 200 || status === undefined),
    JSON.stringify(taken),
  )

  const again = start(t, childEnvironment(dataDir))
  const url = await again.listening
  for (const phone of accepted) {
    const found = await send(`${url}/api/v3/contacts/find?phone=${encodeURIComponent(phone)}`, {
      headers: bearer(account.apiKey),
    })
    t.is(found.status, 200, phone)
  }
  const leads = having(
    await manage({ url }, 'GET', `/accounts/${account.id}/marketing_sources/${account.sourceId}/leads?limit=500`),
    'leads',
  )
  t.is(leads.length, accepted.length + 1)
})

test('a request that is never sent to its end does not keep the service from ending', async (t) => {
  const child = start(t, childEnvironment(dataDirFor(t)))
  const { hostname, port } = new URL(await child.listening)
  const half = connect(Number(port), hostname)
  half.once('error', () => undefined)
  await new Promise<void>((resolve) => {
    half.write('POST /manage/v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{', () => {
      resolve()
    })
  })
  t.is((await send(`http://${hostname}:${port}/health/live`)).status, 200)
  const begun = performance.now()
  await stopped(t, child)
  t.true(performance.now() - begun < 15_000)
})

test('a restart finds everything, and goes on with what was due', async (t) => {
  const dataDir = dataDirFor(t)
  const receiver = await openReceiver()
  t.teardown(receiver.close)
  receiver.answer((n) => (n === 1 ? 503 : 200))
  const environment = { ...childEnvironment(dataDir), CLOCK_RATE: '20' }
  const first = start(t, environment)
  const account = await openAccount({ url: await first.listening })
  const webhookId = await account.addWebhook({ url: receiver.url, token: 'x', events: ['started'] })
  const fields = lead({ lead_id: 'L-1' })
  const submitted = await account.submit(fields, { 'idempotency-key': 'order 1' })
  const { contact_id } = idsOf(submitted)
  await receiver.received(1)
  const { sold } = await account.standardConversions()
  const record = await account.record(sold, { contact_id })
  const paths = [
    '/conversions',
    '/playbooks',
    '/marketing_sources',
    '/webhooks',
    `/marketing_sources/${account.sourceId}/leads`,
  ]
  const seen = async (url: string): Promise<ReadonlyArray<string>> => {
    const managed = paths.map((path) => manage({ url }, 'GET', `/accounts/${account.id}${path}`))
    const own = ['/conversions', `/contacts/${contact_id}`].map((path) =>
      send(`${url}/api/v3${path}`, { headers: bearer(account.apiKey) }),
    )
    return (await Promise.all([...managed, ...own])).map(({ text }) => text.replaceAll(url, ''))
  }
  const before = await seen(await first.listening)
  await stopped(t, first)

  const second = start(t, environment)
  const url = await second.listening
  t.deepEqual(await seen(url), before)
  const headers = { 'content-type': 'application/json', ...bearer(account.apiKey) }
  const body = JSON.stringify({ conversion_contact: { contact_id, custom_value: 5 } })
  const again = await send(`${url}/api/v3/conversions/${sold}/events`, { method: 'POST', headers, body })
  t.is(again.status, 200)
  t.deepEqual(again.body, record.body)
  const postUrl = account.postUrl.replace(await first.listening, url)
  for (const repeat of [
    await sendJson(postUrl, 'POST', lead(), { 'idempotency-key': 'order 1' }),
    await sendJson(postUrl, 'POST', fields),
  ]) {
    t.deepEqual(repeat.body, submitted.body)
  }
  const [failed, retried] = await receiver.received(2)
  t.deepEqual(retried?.body, failed?.body)
  t.is(retried?.headers['webhook-id'], failed?.headers['webhook-id'])
  t.is(
    having(await manage({ url }, 'GET', `/accounts/${account.id}/webhooks/${webhookId}/deliveries`), 'deliveries')
      .length,
    1,
  )
})

test('health says that the process lives and how far each projection lags', async (t) => {
  const child = start(t, childEnvironment(dataDirFor(t)))
  const url = await child.listening
  const account = await openAccount({ url })
  await account.submitted()
  const live = await send(`${url}/health/live`)
  t.is(live.status, 200)
  const ready = await send(`${url}/health/ready`)
  t.is(ready.status, 200)
  t.is(ready.body.status, 'ready')
  const projections = having(ready, 'projections')
  t.true(projections.length >= 8)
  t.is(new Set(projections.map(({ name }) => name)).size, projections.length)
  for (const { name, lag, failure } of projections) {
    t.true(Number.isInteger(lag) && lag >= 0 && lag < 50, `${name} ${lag}`)
    t.is(failure, null, name)
  }
  for (const path of ['/health', '/health/other']) t.is((await send(url + path)).status, 404)
})

test('metrics are in the text format of Prometheus', async (t) => {
  const child = start(t, childEnvironment(dataDirFor(t)))
  const url = await child.listening
  const account = await openAccount({ url })
  await account.submitted()
  await account.submit({})
  const metrics = await send(`${url}/metrics`)
  t.is(metrics.status, 200)
  t.regex(metrics.headers['content-type'] ?? '', /^text\/plain; ?version=0\.0\.4/)
  const sample =
    /^[a-zA-Z_:][\w:]*(\{[a-z]\w*="(?:[^"\\]|\\.)*"(?:,[a-z]\w*="(?:[^"\\]|\\.)*")*\})? (-?[\d.e+-]+|NaN|\+Inf)$/
  for (const line of metrics.text.trim().split('\n')) {
    t.true(line === '' || line.startsWith('# HELP ') || line.startsWith('# TYPE ') || sample.test(line), line)
  }
  const count = (status: number): RegExp =>
    new RegExp(
      `^leadloop_http_request_seconds_count\\{surface="intake",route="[^"]*:source_id",status="${status}"\\} 1$`,
      'm',
    )
  t.regex(metrics.text, count(200))
  t.regex(metrics.text, count(400))
  t.regex(metrics.text, /^leadloop_follower_lag\{follower="contacts"\} \d+$/m)
})
