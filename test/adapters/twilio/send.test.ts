import test from 'ava'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { later } from '../../../domain/instant.js'
import { number, service } from '../../twilio-double/double.js'
import { messageOf } from '../../contracts/messenger.js'
import { noon, stageFor } from './stage.js'

test('a text is sent once, from the number, and reports to a URL that names it', async (t) => {
  const { messenger, double } = await stageFor(t)
  const outcome = await messenger.send(messageOf())
  const [taken, ...others] = double.taken
  t.deepEqual(others, [])
  t.deepEqual(outcome, { kind: 'accepted', providerId: taken?.sid })
  t.deepEqual(Object.fromEntries(taken?.form ?? []), {
    To: '+14155550123',
    From: number,
    Body: 'Hello Ada, “welcome”. Reply STOP to end.',
    StatusCallback: 'https://leads.example.com/messaging/twilio/status/msg_00000000000000000000000001',
    ValidityPeriod: '14400',
  })
})

test('a text is sent from a Messaging Service where the sender is one', async (t) => {
  const { messenger, double } = await stageFor(t, { sender: service })
  t.is((await messenger.send(messageOf())).kind, 'accepted')
  t.is(double.taken[0]?.form.get('MessagingServiceSid'), service)
  t.false(double.taken[0]?.form.has('From'))
})

test('a text is never valid for longer than it may be, however late Twilio takes it, nor for longer than Twilio allows', async (t) => {
  const { messenger, double } = await stageFor(t)
  for (const milliseconds of [11_000, 69_999, 14_410_000, 90_000_000]) {
    t.is((await messenger.send(messageOf({ validUntil: later(noon, milliseconds) }))).kind, 'accepted')
  }
  t.deepEqual(
    double.taken.map(({ form }) => form.get('ValidityPeriod')),
    ['1', '59', '14400', '14400'],
    'a request takes ten seconds at most',
  )
})

test('a text whose time is over is not sent', async (t) => {
  const { messenger, double } = await stageFor(t)
  for (const milliseconds of [10_999, 0, -5_000]) {
    t.deepEqual(await messenger.send(messageOf({ validUntil: later(noon, milliseconds) })), {
      kind: 'failed',
      reason: 'its time is over',
      retryAt: undefined,
    })
  }
  t.deepEqual(double.requests, [])
})

test('what the real one refuses is told apart, without a word or a number of the answer', async (t) => {
  const { messenger, messengerFor, double } = await stageFor(t)
  double.optOut('+14155550199')
  const kindOf = async (outcome: ReturnType<typeof messenger.send>): Promise<string> => {
    const ended = await outcome
    t.notRegex(JSON.stringify(ended), /1415|says|welcome/)
    return ended.kind
  }
  t.is(await kindOf(messenger.send(messageOf({ to: '+14155550199' }))), 'opted-out')
  t.is(await kindOf(messenger.send(messageOf({ to: '415-555-0123' }))), 'undeliverable')
  t.is(await kindOf(messenger.send(messageOf({ text: '' }))), 'refused')
  t.is(await kindOf(messenger.send(messageOf({ text: 'x'.repeat(1_601) }))), 'refused')
  t.is(await kindOf(messengerFor(double.account('+14155550177')).send(messageOf())), 'sender-blocked')
  t.is(await kindOf(messengerFor({ ...double.account(), authToken: 'other' }).send(messageOf())), 'sender-blocked')
  const elsewhere = { ...double.account(), accountSid: `AC${'9'.repeat(32)}` }
  t.is(await kindOf(messengerFor(elsewhere).send(messageOf())), 'sender-blocked')
  t.deepEqual(double.taken, [])
})

test('a text is tried again when Twilio asks for it, an hour later at most', async (t) => {
  const { messenger, double } = await stageFor(t)
  const retryAtWith = async (status: number, headers: Record<string, string>) => {
    double.fail({ status, code: 20429, headers })
    const outcome = await messenger.send(messageOf())
    return outcome.kind === 'failed' ? outcome.retryAt : outcome
  }
  t.is(await retryAtWith(429, {}), undefined)
  t.is(await retryAtWith(429, { 'retry-after': '30' }), later(noon, 30_000))
  t.is(await retryAtWith(503, { 'retry-after': 'Mon, 23 Nov 2026 12:02:00 GMT' }), later(noon, 120_000))
  t.is(await retryAtWith(503, { 'retry-after': '99999999999999' }), later(noon, 3_600_000))
  for (const meaningless of ['soon', '-5', 'Mon, 23 Nov 2020 12:02:00 GMT']) {
    t.is(await retryAtWith(500, { 'retry-after': meaningless }), undefined)
  }
})

test('a text that Twilio can not have is tried again, and one that it may have is unknown', async (t) => {
  const { messenger, messengerFor, double } = await stageFor(t)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const failed = { kind: 'failed', reason: 'no connection', retryAt: undefined } as const
  const unknown = { kind: 'unknown', reason: 'no answer' } as const
  const account = double.account()
  t.deepEqual(await messengerFor({ ...account, baseUrl: `http://127.0.0.1:${port}` }).send(messageOf()), failed)
  t.deepEqual(await messengerFor({ ...account, baseUrl: 'http://no.such.host.invalid' }).send(messageOf()), failed)
  const plain = account.baseUrl.replace('http:', 'https:')
  t.deepEqual(await messengerFor({ ...account, baseUrl: plain }).send(messageOf()), failed, 'no TLS there')
  t.deepEqual(double.requests, [])

  double.fail('cut-before')
  t.deepEqual(await messenger.send(messageOf()), unknown)
  t.is(double.taken.length, 0)
  double.fail('cut-after')
  t.deepEqual(await messenger.send(messageOf()), unknown)
  t.is(double.taken.length, 1)
})

test('an answer that comes too late leaves the outcome unknown', async (t) => {
  const { messenger, double, time } = await stageFor(t)
  double.fail('late')
  const held = double.held()
  const sending = messenger.send(messageOf())
  await held
  await time.advance(10_000)
  t.deepEqual(await sending, { kind: 'unknown', reason: 'no answer' })
  t.is(double.taken.length, 1)
})

test('a messenger that is closed breaks off what is in flight', async (t) => {
  const { messenger, double } = await stageFor(t)
  double.fail('late')
  const held = double.held()
  const sending = messenger.send(messageOf())
  await held
  messenger.close()
  t.is((await sending).kind, 'unknown')
})

test('the token goes to no other address, and an answer that is endless or no JSON is not read', async (t) => {
  const { messengerFor, double } = await stageFor(t)
  const paths: Array<string | undefined> = []
  const server = createServer((request, response) => {
    paths.push(request.url)
    if (paths.length === 1) response.writeHead(307, { location: '/elsewhere' }).end()
    else if (paths.length === 2) response.writeHead(201).end('taken')
    else response.writeHead(201).end(`{"sid":"${'x'.repeat(1_000_000)}"}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { send } = messengerFor({ ...double.account(), baseUrl: `http://127.0.0.1:${port}` })
  t.like(await send(messageOf()), { kind: 'sender-blocked' })
  t.is(paths.length, 1)
  t.deepEqual(await send(messageOf()), { kind: 'unknown', reason: 'no valid answer' })
  t.deepEqual(await send(messageOf()), { kind: 'unknown', reason: 'no valid answer' })
})
