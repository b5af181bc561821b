import test, { type ExecutionContext } from 'ava'
import { createServer, type AddressInfo } from 'node:net'
import { consentVerifier } from '../../../adapters/consent/verifier.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { at } from '../../kit/domain/samples.js'
import { receiverFor, type Answering } from '../../kit/network/receiver.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { turnTime } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

const consent = {
  token: 'consent-1',
  url: 'https://consent.example/1',
  phone: '+14155550123',
  email: 'ada@example.com',
  submittedAt: at(),
}

/** Waits for nothing: what takes its time is never cut off. */
const patient: MonotonicClock = { ...turnTime, sleep: () => new Promise(() => undefined) }

/** A service that answers so, asked once. */
const asked = async (t: ExecutionContext, answering: Answering, path = '') => {
  const receiver = await receiverFor(t)
  receiver.answer(answering)
  const answer = await consentVerifier(receiver.url + path, patient).verify(consent)
  return { answer, receiver }
}

const says =
  (body: string, status = 200): Answering =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    return undefined
  }

const unreadable = { kind: 'failed', reason: 'no answer that can be read' } as const

test('a service is posted what the lead says of its consent, and nothing else', async (t) => {
  const { answer, receiver } = await asked(t, says('{"verified":true}'), '?tenant=1')
  t.deepEqual(answer, { kind: 'verified' })
  const [request] = receiver.requests
  t.like(request, { method: 'POST', path: '/hook?tenant=1' })
  t.like(request?.headers, { 'content-type': 'application/json', 'user-agent': 'Leadloop' })
  t.is(request?.headers.authorization, undefined)
  const { submittedAt: submitted_at, ...rest } = consent
  t.deepEqual(JSON.parse(request?.body.toString() ?? ''), { ...rest, submitted_at })
})

test('a user and a password of the URL go into a header, and not along in the URL', async (t) => {
  const receiver = await receiverFor(t)
  receiver.answer(says('{"verified":true,"reason":null}'))
  const address = receiver.url.replace('//', '//us%40er:p%3Ass@')
  t.deepEqual(await consentVerifier(address, patient).verify(consent), { kind: 'verified' })
  const [request] = receiver.requests
  t.is(request?.headers.authorization, `Basic ${Buffer.from('us@er:p:ss').toString('base64')}`)
  t.is(request?.path, '/hook')
})

test('a refusal is told with its reason, as far as it says nothing of a person', async (t) => {
  const refusals: ReadonlyArray<readonly [string, string | undefined]> = [
    ['{"verified":false,"reason":"Token expired."}', 'token expired'],
    ['{"verified":false,"reason":"phone_mismatch"}', 'phone mismatch'],
    [
      '{"verified":false,"reason":"token consent-1 of Ada Lovelace <ada@example.com>, +1 415 555 0123, is unknown"}',
      'token consent … of … is unknown',
    ],
    ['{"verified":false,"reason":"Ada"}', undefined],
    ['{"verified":false,"reason":""}', undefined],
    ['{"verified":false,"reason":null,"more":1}', undefined],
    ['{"verified":false}', undefined],
    [`{"verified":false,"reason":"${'expired '.repeat(1_000)}"}`, Array(25).fill('expired').join(' ')],
  ]
  for (const [body, reason] of refusals) t.deepEqual((await asked(t, says(body))).answer, { kind: 'refused', reason })
})

test('an answer that is none decides nothing', async (t) => {
  const bodies = [
    '',
    'true',
    '{}',
    '[]',
    'null',
    '{"verified":"true"}',
    '{"verified":1}',
    '{"verified":true,"reason":7}',
  ]
  for (const body of [...bodies, '{"verified":true', '<html></html>', `{"verified":true,"x":"${'x'.repeat(20_000)}"}`])
    t.deepEqual((await asked(t, says(body))).answer, unreadable, body.slice(0, 40))
})

test('what is no 200 decides nothing, whatever it says', async (t) => {
  for (const status of [201, 204, 400, 401, 404, 429, 500, 503])
    t.deepEqual(
      (await asked(t, says(status === 204 ? '' : '{"verified":true}', status))).answer,
      { kind: 'failed', reason: `status ${status}` },
      String(status),
    )
})

test('a redirect is not followed', async (t) => {
  const elsewhere = await receiverFor(t)
  elsewhere.answer(says('{"verified":true}'))
  for (const status of [301, 302, 303, 307, 308]) {
    const redirects: Answering = (_, response) => {
      response.writeHead(status, { location: elsewhere.url }).end()
      return undefined
    }
    t.deepEqual((await asked(t, redirects)).answer, { kind: 'failed', reason: `status ${status}` })
  }
  t.deepEqual(elsewhere.requests, [])
})

const held: Readonly<Record<string, Answering>> = {
  silent: () => undefined,
  'slow with its body': (_, response) => {
    response.writeHead(200).write('{"verified":')
    return undefined
  },
}

for (const [name, answering] of Object.entries(held)) {
  test(`a service that is ${name} has five seconds`, async (t) => {
    const receiver = await receiverFor(t)
    receiver.answer(answering)
    const time = manualTime()
    let answer: unknown
    void consentVerifier(receiver.url, time.process())
      .verify(consent)
      .then((given) => (answer = given))
    await receiver.received(1)
    await time.advance(4_999)
    t.is(answer, undefined)
    await time.advance(1)
    t.deepEqual(await until('the answer', 10_000, () => answer), { kind: 'failed', reason: 'no answer within 5 s' })
  })
}

test('a service that is away, or hangs up, is told by a code and not by words', async (t) => {
  const server = createServer((connection) => connection.destroy())
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const answerAt = async (at: number): Promise<unknown> =>
    consentVerifier(`http://user:word@127.0.0.1:${at}/`, patient).verify(consent)
  t.deepEqual(await answerAt(port), { kind: 'failed', reason: 'no answer (ECONNRESET)' })
  // Not a port that was just closed: a process that begins meanwhile holds a copy of its socket.
  t.deepEqual(await answerAt(9), { kind: 'failed', reason: 'no answer (ECONNREFUSED)' })
})

test('without a service what waits for one is not let through', async (t) => {
  t.deepEqual(await consentVerifier(undefined).verify(consent), { kind: 'failed', reason: 'no service is set' })
})
