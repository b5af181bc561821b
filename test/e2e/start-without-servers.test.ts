import { status } from '@grpc/grpc-js'
import test from 'ava'
import { createSecureServer, createServer as createHttp2Server } from 'node:http2'
import { createServer, type AddressInfo } from 'node:net'
import { newAuthority, newIdentity } from '../adapters/webhook/certificates.js'
import { startDouble } from '../eventstoredb-double/double.js'
import { send } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { refusalOf } from '../kit/service/in-process-service.js'
import { addressOf, isRefused, startService, type ServiceProcess } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

const listens = async (service: ServiceProcess): Promise<string> => {
  const line = () => service.logged().find(({ msg }) => msg === 'listening')
  await until('it listens', 60_000, () => line() !== undefined)
  return String(line()?.['address'])
}

test('a start without its event store listens, says what it waits for, and goes on by itself when it comes', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  await double.stop()
  const service = startService(t, temporaryDirectory(t), { EVENTSTORE_URL: double.url, LOG_LEVEL: 'info' })
  const url = await listens(service)

  t.is((await send(`${url}/health/live`)).status, 200)
  const reasons = { EVENTSTORE_URL: 'the event store answered unavailable (14)' }
  const waiting = JSON.stringify({ status: 'starting', waiting_for: ['EVENTSTORE_URL'], reasons })
  const ready = () => send(`${url}/health/ready`)
  t.regex((await ready()).text, /EVENTSTORE_URL/, 'at once')
  await until('it says why', 60_000, async () => (await ready()).text === waiting)
  t.is((await ready()).status, 503)
  for (const path of ['/api/v3/conversions', '/manage/v1/accounts', '/anything']) {
    const answer = await send(`${url}${path}`)
    t.is(answer.status, 503, path)
    t.is(answer.headers['retry-after'], '1', path)
  }
  t.true(service.logged().some(({ msg }) => msg === 'the start waits for a server'))

  await double.start()
  t.is(await addressOf(service), url)
  t.is((await send(`${url}/health/ready`)).status, 200)
  await (await openAccount({ url })).submitted()
})

for (const [setting, nowhere] of [
  ['EVENTSTORE_URL', 'esdb://127.0.0.1:1?tls=false'],
  ['MONGODB_URL', 'mongodb://127.0.0.1:1'],
] as const) {
  test(`a start that waits for the server of ${setting} says so, and ends at SIGTERM`, async (t) => {
    const service = startService(t, temporaryDirectory(t), { [setting]: nowhere, LOG_LEVEL: 'info' })
    const url = await listens(service)
    const ready = () => send(`${url}/health/ready`)
    t.like((await ready()).body, { status: 'starting', waiting_for: [setting] })
    t.is((await send(`${url}/health/live`)).status, 200)
    service.signal('SIGTERM')
    t.deepEqual(await service.exited, { code: 0, signal: null })
  })
}

test('a start that waits for a MongoDB which may not speak TLS says so, in health and in the log', async (t) => {
  // Takes what comes for the beginning of a message, and waits for the rest, as FerretDB does.
  const plain = createServer((socket) => socket.on('error', () => undefined).resume())
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void plain.close())
  const { port } = plain.address() as AddressInfo
  const environment = { MONGODB_URL: `mongodb://127.0.0.1:${port}/?tls=true`, LOG_LEVEL: 'info' }
  const service = startService(t, temporaryDirectory(t), environment)
  const url = await listens(service)
  const reason = 'MongoDB does not answer, or does not speak TLS (MongoServerSelectionError)'
  const waiting = { status: 'starting', waiting_for: ['MONGODB_URL'], reasons: { MONGODB_URL: reason } }
  await until('it waits', 60_000, async () => (await send(`${url}/health/ready`)).text === JSON.stringify(waiting))
  const isTold = () =>
    service.logged().some((line) => line.msg === 'the start waits for a server' && line['reason'] === reason)
  await until('it is in the log', 60_000, isTold)
  t.is((await send(`${url}/health/ready`)).status, 503)
})

test('a certificate that is not trusted, and a server without TLS, end the start with one sentence', async (t) => {
  const server = createSecureServer(newIdentity({ hosts: ['localhost'] }, newAuthority('Nobody knows it')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const double = await startDouble()
  t.teardown(double.stop)
  const untrusted = /EVENTSTORE_URL: .* certificate that is not trusted here\./
  const alone = `esdb://localhost:${port}?tls=true`
  await isRefused(t, startService(t, temporaryDirectory(t), { EVENTSTORE_URL: alone }), untrusted)
  const mongoUrl = `mongodb://localhost:${port}/leadloop?tls=true`
  const documents = startService(t, temporaryDirectory(t), { MONGODB_URL: mongoUrl })
  await isRefused(t, documents, /MONGODB_URL: .* certificate that is not trusted here /)
  for (const eventStoreUrl of [
    `esdb+discover://ada:pass-word@localhost:${port}?tls=true`,
    `esdb://localhost:1,localhost:${port}?tls=true`,
    `esdb://localhost:1, localhost:${port},?tls=true`,
  ]) {
    t.regex(await refusalOf(temporaryDirectory(t), { eventStoreUrl }), untrusted)
  }
  const besideNobody = { eventStoreUrl: alone, mongoUrl: 'mongodb://127.0.0.1:9/' }
  t.regex(await refusalOf(temporaryDirectory(t), besideNobody), untrusted)
  const withoutTls = { eventStoreUrl: `esdb://localhost:${double.port}?tls=true` }
  t.regex(await refusalOf(temporaryDirectory(t), withoutTls), /EVENTSTORE_URL: .* does not speak TLS\.?$/)
})

const tooOld = /EVENTSTORE_URL: the event store is too old: it must be EventStoreDB 23\.10 or later\b/

test('an EventStoreDB that does not know a call that is needed ends the start with one sentence', async (t) => {
  for (const which of ['all', 'reads'] as const) {
    const double = await startDouble()
    t.teardown(double.stop)
    double.faults.refuse(which, status.UNIMPLEMENTED)
    t.regex(await refusalOf(temporaryDirectory(t), { eventStoreUrl: double.url }), tooOld)
  }
})

test('an EventStoreDB that never says that a subscription has caught up ends the start with one sentence', async (t) => {
  const double = await startDouble({ version: '23.10', fullVersion: '22.10.5.0' })
  t.teardown(double.stop)
  await isRefused(t, startService(t, temporaryDirectory(t), { EVENTSTORE_URL: double.url }), tooOld)
})

test('a password that EventStoreDB refuses ends the start with one sentence, and without the password', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  double.faults.refuse('all', status.UNAUTHENTICATED)
  const eventStoreUrl = double.url.replace('esdb://', 'esdb://ada:pass-word@')
  const refusal = await refusalOf(temporaryDirectory(t), { eventStoreUrl })
  t.regex(refusal, /EVENTSTORE_URL: the event store refuses the user or the password\b/)
  t.false(refusal.includes('pass-word'))
})

test('a proxy that has no event store behind it yet is waited for', async (t) => {
  const proxy = createHttp2Server((_request, response) => response.writeHead(404).end())
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void proxy.close())
  const { port } = proxy.address() as AddressInfo
  const service = startService(t, temporaryDirectory(t), {
    EVENTSTORE_URL: `esdb://127.0.0.1:${port}?tls=false`,
    LOG_LEVEL: 'info',
  })
  const url = await listens(service)
  const reasons = { EVENTSTORE_URL: 'what answers there is no event store (HTTP 404)' }
  const waiting = JSON.stringify({ status: 'starting', waiting_for: ['EVENTSTORE_URL'], reasons })
  await until('it waits', 60_000, async () => (await send(`${url}/health/ready`)).text === waiting)
  service.signal('SIGTERM')
  t.deepEqual(await service.exited, { code: 0, signal: null })
})
