import test from 'ava'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { bearer, having, send, sendJson, type Answer } from '../kit/network/http.js'
import { receiverFor } from '../kit/network/receiver.js'
import { idsOf, manage, openAccount } from '../kit/service/account.js'
import { lead } from '../kit/service/leads.js'
import { refusalOf, serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, startService, stopped } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

/** One for each setting that can be wrong. */
const wrong = {
  PORT: '80.5',
  PUBLIC_URL: 'https://user:word@leads.example.com',
  OPERATOR_KEY: 'an operator key of words',
  SECRET_KEY: 'not-thirty-two-bytes',
  ALLOW_PRIVATE_WEBHOOKS: 'perhaps',
  LOG_LEVEL: 'chatty',
  CLOCK_RATE: '1000001',
  EVENTSTORE_URL: 'kurrentdb://user:word@events.example.com',
  MONGODB_URL: 'postgres://user:word@documents.example.com',
  SMTP_URL: 'smtp://mail.example.com/inbox',
  ROLES: 'api,reader',
}

test('every wrong setting stops the start at once, each with its own sentence', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const child = startService(t, dataDir, wrong)
  t.deepEqual(await child.exited, { code: 1, signal: null })
  for (const [name, value] of Object.entries(wrong)) {
    t.regex(child.stderr(), new RegExp(`^leadloop can't start. ${name} must be `, 'm'))
    t.false(value.length > 3 && child.stderr().includes(value), name)
  }
  t.is(child.stderr().trim().split('\n').length, Object.keys(wrong).length)
  t.is(child.stdout(), '')
  t.false(existsSync(dataDir))
})

test('a host that is not of this machine stops the start with a sentence that names HOST', async (t) => {
  t.regex(await refusalOf(temporaryDirectory(t), { host: '203.0.113.77' }), /^HOST: /)
})

test('another SECRET_KEY than the store was begun with is refused, and the right one opens it', async (t) => {
  const dataDir = temporaryDirectory(t)
  const [right, other] = [randomBytes(32), randomBytes(32)]
  const first = await serviceFor(t, dataDir, { secretKey: right })
  const account = await openAccount(first)
  await first.stop()
  t.false(existsSync(join(dataDir, 'secret-key')))
  for (const secretKey of [other, undefined]) {
    const refusal = await refusalOf(dataDir, { secretKey })
    t.regex(refusal, /^SECRET_KEY: /)
    for (const key of [right, other]) t.false(refusal.includes(key.toString('base64')))
  }
  rmSync(join(dataDir, 'secret-key'), { force: true })
  const url = `${(await serviceFor(t, dataDir, { secretKey: right })).url}/api/v3/conversions`
  t.is((await send(url, { headers: bearer(account.apiKey) })).status, 200)
})

test('a secret-key file that is no key stops the start with a sentence that names it', async (t) => {
  const dataDir = temporaryDirectory(t)
  for (const unusable of ['not a key\n', '']) {
    writeFileSync(join(dataDir, 'secret-key'), unusable)
    t.regex(await refusalOf(dataDir), /^SECRET_KEY: .*secret-key/)
  }
})

test('an operator-key file that no request can carry stops the start with a sentence that names it', async (t) => {
  const dataDir = temporaryDirectory(t)
  for (const unusable of ['an operator key of words', '']) {
    writeFileSync(join(dataDir, 'operator-key'), `${unusable}\n`)
    t.regex(await refusalOf(dataDir, { operatorKey: undefined }), /^OPERATOR_KEY: /)
  }
})

test('a key file that can not be read stops the start with a sentence that names it', async (t) => {
  for (const [name, setting] of Object.entries({ 'secret-key': 'SECRET_KEY', 'operator-key': 'OPERATOR_KEY' })) {
    const dataDir = temporaryDirectory(t)
    // As one is that another user made, also to a user who may read everything.
    mkdirSync(join(dataDir, name))
    const refusal = await refusalOf(dataDir, { operatorKey: undefined })
    t.is(refusal, `${setting}: the file ${name} can't be read or made (EISDIR).`)
  }
})

test('the first start makes both keys, with mode 0600, and says the operator key once', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'made', 'data')
  const unset = { OPERATOR_KEY: undefined }
  const first = startService(t, dataDir, unset)
  const url = await addressOf(first)
  const keyIn = (name: string): string => readFileSync(join(dataDir, name), 'utf8').trim()
  for (const name of ['secret-key', 'operator-key']) t.is(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
  const [secret, operator] = [keyIn('secret-key'), keyIn('operator-key')]
  const opened = await sendJson(`${url}/manage/v1/accounts`, 'POST', { title: 'x' }, bearer(operator))
  t.is(opened.status, 201)
  await stopped(t, first)
  t.is(first.stderr().split(operator).length - 1, 1)
  const second = startService(t, dataDir, unset)
  t.is((await send(`${await addressOf(second)}/health/live`)).status, 200)
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
  const child = startService(t, temporaryDirectory(t))
  await addressOf(child)
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

test('people are told on standard error, and the log stands on standard output in lines of JSON', async (t) => {
  const child = startService(t, temporaryDirectory(t), { LOG_LEVEL: 'debug' })
  const account = await openAccount({ url: await addressOf(child) })
  await account.submitted()
  await stopped(t, child)
  const lines = child
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
  t.true(lines.length > 0)
  for (const line of lines) t.notThrows(() => JSON.parse(line) as unknown, line)
})

test('a service that ends tells so in its log', async (t) => {
  const child = startService(t, temporaryDirectory(t), { LOG_LEVEL: 'info' })
  await addressOf(child)
  await stopped(t, child)
  t.deepEqual(
    child.logged().map(({ msg }) => msg),
    ['listening', 'stopping', 'stopped'],
  )
})

test('SIGTERM and SIGINT end an idle service at once, with connections kept open', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const child = startService(t, temporaryDirectory(t))
    const url = await addressOf(child)
    t.is((await send(`${url}/health/live`)).status, 200)
    const begun = performance.now()
    await stopped(t, child, signal)
    t.true(performance.now() - begun < 9_000, signal)
    await t.throwsAsync(send(`${url}/health/live`), undefined, signal)
  }
})

test('a signal that comes twice, from the terminal and once more from npm, cuts no request off', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const child = startService(t, temporaryDirectory(t))
    const url = await addressOf(child)
    const { postUrl } = await openAccount({ url })
    const body = JSON.stringify(lead())
    const headers = { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' }
    const outgoing = request(postUrl, { method: 'POST', headers })
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    outgoing.write(body.slice(0, 20))
    child.signal(signal)
    const isRefused = () =>
      send(`${url}/health/live`).then(
        () => false,
        () => true,
      )
    await until('connections are refused', 60_000, isRefused)
    child.signal(signal)
    outgoing.end(body.slice(20))
    const [response] = await answered
    t.is(response.statusCode, 200, signal)
    response.resume()
    t.deepEqual(await child.exited, { code: 0, signal: null }, signal)
  }
})

test('a restart finds everything, and goes on with what was due', async (t) => {
  const dataDir = temporaryDirectory(t)
  const receiver = await receiverFor(t)
  receiver.answer((n) => (n === 1 ? 503 : 200))
  const settings = { clockRate: 20 }
  const first = await serviceFor(t, dataDir, settings)
  const account = await openAccount(first)
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
  const before = await seen(first.url)
  await first.stop()

  const { url } = await serviceFor(t, dataDir, settings)
  t.deepEqual(await seen(url), before)
  const asked = { conversion_contact: { contact_id, custom_value: 5 } }
  const again = await sendJson(`${url}/api/v3/conversions/${sold}/events`, 'POST', asked, bearer(account.apiKey))
  t.is(again.status, 200)
  t.deepEqual(again.body, record.body)
  const postUrl = account.postUrl.replace(first.url, url)
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
