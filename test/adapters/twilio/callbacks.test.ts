import test from 'ava'
import { inboundMessageFrom, statusCallbackFrom } from '../../../adapters/twilio/callbacks.js'
import { isSignedBy } from '../../../adapters/twilio/signature.js'
import { E } from '../../../domain/prelude.js'
import { receiverFor, type Received } from '../../kit/network/receiver.js'
import { messageOf } from '../../contracts/messenger.js'
import { stageFor } from './stage.js'

const sid = `SM${'a'.repeat(32)}`

const formIn = ({ body }: Received): URLSearchParams => new URLSearchParams(body.toString('utf8'))

const statusOf = (fields: Readonly<Record<string, string>>) =>
  statusCallbackFrom(new URLSearchParams({ MessageSid: sid, ...fields }))

test('status callbacks come signed, twice and in any order, and say what has become of the text', async (t) => {
  const receiver = await receiverFor(t)
  const site = new URL(receiver.url).origin
  const { messenger, double } = await stageFor(t, { site })
  await messenger.send(messageOf())
  const [taken] = double.taken
  if (taken === undefined) throw new Error('nothing was taken')
  for (const status of ['delivered', 'sent', 'sent', 'queued']) t.is(await double.postStatus(taken, status), 200)
  t.is(await double.postStatus(taken, 'undelivered', 30003), 200)
  const { authToken } = double.account()
  const read = receiver.requests.map((request) => {
    const signature = String(request.headers['x-twilio-signature'])
    t.is(request.path, '/messaging/twilio/status/msg_00000000000000000000000001')
    t.true(isSignedBy(authToken, `${site}${request.path}`, formIn(request), signature))
    t.false(isSignedBy('another token', `${site}${request.path}`, formIn(request), signature))
    t.false(isSignedBy(authToken, `${site}/other`, formIn(request), signature))
    return statusCallbackFrom(formIn(request))
  })
  const providerId = taken.sid
  t.deepEqual(read, [
    E.right({ providerId, state: 'delivered' }),
    E.right({ providerId, state: 'sent' }),
    E.right({ providerId, state: 'sent' }),
    E.right({ providerId, state: 'accepted' }),
    E.right({
      providerId,
      state: 'failed',
      failure: { kind: 'unreached', reason: 'the handset is not reached (Twilio 30003)' },
    }),
  ])
})

test('what contacts write comes signed', async (t) => {
  const receiver = await receiverFor(t)
  const { double } = await stageFor(t)
  const fields = { MessageSid: sid, From: '+14155550123', To: '+14155550100', Body: 'STOP', OptOutType: 'STOP' }
  t.is(await double.postInbound(receiver.url, fields), 200)
  const request = await receiver.receivedOne()
  const signature = String(request.headers['x-twilio-signature'])
  t.true(isSignedBy(double.account().authToken, receiver.url, formIn(request), signature))
  t.deepEqual(
    inboundMessageFrom(formIn(request)),
    E.right({
      providerId: sid,
      from: '+14155550123',
      to: '+14155550100',
      service: undefined,
      text: 'STOP',
      optOutType: 'STOP',
    }),
  )
})

test('a form is read once before its signature is checked, however many names anybody put into it', (t) => {
  const reads: Array<string> = []
  class Form extends URLSearchParams {
    override getAll(name: string) {
      reads.push(name)
      return super.getAll(name)
    }
    override [Symbol.iterator]() {
      reads.push('all')
      return super[Symbol.iterator]()
    }
  }
  const form = new Form(Array.from({ length: 1_000 }, (_, n): [string, string] => [`name${n}`, '']))
  t.false(isSignedBy('token', 'https://leads.example.com/messaging/twilio/inbound', form, 'none'))
  t.deepEqual(reads, ['all'])
})

test('every status of a text has a state, and a failure says why', (t) => {
  const stateOf = (status: string) => {
    const read = statusOf({ MessageStatus: status })
    return E.isRight(read) ? read.right.state : read.left
  }
  t.deepEqual(['accepted', 'scheduled', 'queued', 'sending'].map(stateOf), Array(4).fill('accepted'))
  t.deepEqual(['sent', 'delivered', 'read'].map(stateOf), ['sent', 'delivered', 'delivered'])
  t.deepEqual(['undelivered', 'failed', 'canceled'].map(stateOf), Array(3).fill('failed'))
  const refused = { kind: 'refused', reason: 'not delivered' } as const
  for (const fields of [{}, { ErrorCode: '' }, { ErrorCode: '0' }]) {
    t.deepEqual(
      statusOf({ MessageStatus: 'failed', ...fields }),
      E.right({ providerId: sid, state: 'failed', failure: refused }),
    )
  }
})

test('a bad status callback is answered with the names of its fields', (t) => {
  const pathsOf = (form: URLSearchParams) => {
    const read = statusCallbackFrom(form)
    return E.isLeft(read) ? read.left.map(({ path }) => path) : []
  }
  t.deepEqual(pathsOf(new URLSearchParams()), ['MessageSid', 'MessageStatus'])
  t.deepEqual(pathsOf(new URLSearchParams({ MessageSid: sid, MessageStatus: 'constructor' })), ['MessageStatus'])
  const failed = { MessageSid: 'SM1', MessageStatus: 'failed', ErrorCode: '+14155550123' }
  t.deepEqual(pathsOf(new URLSearchParams(failed)), ['MessageSid', 'ErrorCode'])
})

test('a bad text is answered with the names of its fields, and an unknown type of opting out loses none', (t) => {
  const bad = inboundMessageFrom(new URLSearchParams({ MessageSid: 'x', From: ' ' }))
  t.deepEqual(E.isLeft(bad) ? bad.left.map(({ path }) => path) : bad, ['MessageSid', 'From', 'To', 'Body'])
  const picture = { MessageSid: sid, From: '+14155550123', To: '+14155550100', Body: '', NumMedia: '1' }
  t.deepEqual(
    inboundMessageFrom(new URLSearchParams({ ...picture, OptOutType: 'PAUSE' })),
    E.right({
      providerId: sid,
      from: '+14155550123',
      to: '+14155550100',
      service: undefined,
      text: '',
      optOutType: undefined,
    }),
  )
})

const example = new URLSearchParams({
  Digits: '1234',
  CallSid: 'CA1234567890ABCDE',
  To: '+18005551212',
  Caller: '+14158675309',
  From: '+14158675309',
})
const exampleUrl = 'https://mycompany.com/myapp.php?foo=1&bar=2'

test("the example of Twilio's own libraries is signed", (t) => {
  t.true(isSignedBy('12345', exampleUrl, example, 'RSOYDt4T1cUTdK1PDd93/VVr8B8='))
})

test('a signature holds wherever Twilio left the port out or named it, and for nothing that was changed', (t) => {
  const signature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8='
  t.true(isSignedBy('12345', exampleUrl.replace('.com/', '.com:8443/'), example, signature))
  t.true(isSignedBy('12345', exampleUrl.replace('.com/', '.com:443/'), example, signature))
  t.false(isSignedBy('12345', exampleUrl.replace('https', 'http'), example, signature))
  for (const name of example.keys()) {
    const changed = new URLSearchParams(example)
    changed.set(name, 'other')
    t.false(isSignedBy('12345', exampleUrl, changed, signature), name)
  }
  for (const wrong of ['', 'x', 'not base64', `${signature}AAAA`]) {
    t.false(isSignedBy('12345', exampleUrl, example, wrong), wrong)
  }
})
