import test from 'ava'
import { connect, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { newAuthority, newIdentity } from './certificates.js'
import { postWithEnvironment } from './post-with-environment.js'
import { every, flood, openRawReceiver, type Behaviour } from './raw-receiver.js'
import {
  threeSeconds,
  noConnection,
  noResponse,
  noStatus,
  requestTo,
  reset,
  noSocketIsLeft,
  runRows,
  type Row,
} from './rows.js'

test.after.always('no socket is left', noSocketIsLeft)

const authority = newAuthority('An authority that is trusted')
const good = newIdentity({ hosts: ['receiver.test', 'after-2000-ms.test', '127.0.0.1'] }, authority)
const trusted = { authorities: [authority.certificate] }

const empty = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
const answers: Behaviour = { onRequest: (connection) => connection.write(empty) }
const host = 'receiver.test'

const insecure = (code: string): string => `no secure connection (${code})`
const insecurelyReset = insecure('ECONNRESET')

const secured = (name: string, behaviour: Behaviour, ends: Row['ends'], row: Partial<Row> = {}): Row => ({
  name,
  behaviour,
  host,
  ends,
  secure: { identity: good },
  ...row,
})

const shows = (
  name: string,
  identity: ReturnType<typeof newIdentity>,
  ends: Row['ends'],
  row: Partial<Row> = {},
): Row => secured(name, answers, ends, { secure: { identity }, ...row })

const hosts = [host]
const certificates: ReadonlyArray<Row> = [
  shows('of the host', good, 200, { staysOpen: true }),
  shows('of the address', good, 200, { host: '127.0.0.1', staysOpen: true }),
  shows(
    'of a host and those below it',
    newIdentity({ hosts: ['*.test'] }, authority),
    insecure('ERR_TLS_CERT_ALTNAME_INVALID'),
  ),
  shows('of those below a host', newIdentity({ hosts: ['*.example.test'] }, authority), 200, {
    host: 'a.example.test',
    staysOpen: true,
  }),
  shows('of another host', newIdentity({ hosts: ['other.test'] }, authority), insecure('ERR_TLS_CERT_ALTNAME_INVALID')),
  shows(
    'of another address',
    newIdentity({ hosts: ['127.0.0.2'] }, authority),
    insecure('ERR_TLS_CERT_ALTNAME_INVALID'),
    { host: '127.0.0.1' },
  ),
  shows('of a host, for its address', newIdentity({ hosts }, authority), insecure('ERR_TLS_CERT_ALTNAME_INVALID'), {
    host: '127.0.0.1',
  }),
  shows('of nobody', newIdentity({ hosts: [] }, authority), insecure('ERR_TLS_CERT_ALTNAME_INVALID')),
  shows('expired', newIdentity({ hosts, to: '20200101000000Z' }, authority), insecure('CERT_HAS_EXPIRED')),
  shows('of the future', newIdentity({ hosts, from: '20980101000000Z' }, authority), insecure('CERT_NOT_YET_VALID')),
  shows('signed by itself', newIdentity({ hosts }, undefined), insecure('DEPTH_ZERO_SELF_SIGNED_CERT')),
  shows(
    'signed by nobody that is known',
    newIdentity({ hosts }, newAuthority('Another one')),
    insecure('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
  ),
  shows(
    'signed by one that calls itself the same',
    newIdentity({ hosts }, newAuthority(authority.name)),
    insecure('CERT_SIGNATURE_FAILURE'),
  ),
]

/** A receiver that knows nothing of TLS. */
const plain = (name: string, behaviour: Behaviour, ends: Row['ends'], row: Partial<Row> = {}): Row =>
  secured(name, behaviour, ends, { secure: { identity: undefined }, ...row })

/** Bytes of which the connection says that they come once something was sent. */
const onceGreeted = (does: Behaviour['onConnection']): Behaviour => ({
  onConnection: (connection) => connection.once('data', () => does?.(connection)),
})

/** What OpenSSL did not like has a name of its own in some versions of Node. */
const disliked = (name: string): ReadonlyArray<string> => [
  insecure('EPROTO'),
  insecure(`ERR_SSL_${name}`),
  insecurelyReset,
]
const wrongVersion = disliked('WRONG_VERSION_NUMBER')

const handshakes: ReadonlyArray<Row> = [
  plain('silence', {}, noConnection, { takes: threeSeconds }),
  plain('silence after a name of two seconds', {}, noConnection, {
    host: 'after-2000-ms.test',
    takes: threeSeconds,
  }),
  plain(
    'half a record',
    onceGreeted((connection) => connection.write(Buffer.from('16030300', 'hex'))),
    noConnection,
    { takes: threeSeconds },
  ),
  plain(
    'a record that drips',
    onceGreeted((connection) => {
      connection.write(Buffer.from('1603034000', 'hex'))
      every(50, connection, () => connection.write('x'))
    }),
    noConnection,
    { takes: threeSeconds },
  ),
  plain(
    'an answer without TLS',
    onceGreeted((connection) => connection.write(empty)),
    wrongVersion,
  ),
  plain(
    'an answer without TLS before a greeting',
    { onConnection: (connection) => connection.write(empty) },
    wrongVersion,
  ),
  plain('a flood', { onConnection: (connection) => void flood(connection, 'x'.repeat(1_000)) }, wrongVersion),
  plain(
    'an alert',
    onceGreeted((connection) => connection.write(Buffer.from('15030300020228', 'hex'))),
    disliked('SSLV3_ALERT_HANDSHAKE_FAILURE'),
  ),
  plain(
    'an end',
    onceGreeted((connection) => connection.end()),
    insecurelyReset,
  ),
  plain(
    'a reset',
    onceGreeted((connection) => connection.resetAndDestroy()),
    insecurelyReset,
  ),
  plain('an end before a greeting', { onConnection: (connection) => connection.end() }, insecurelyReset),
  secured('TLS 1.1 only', answers, disliked('TLSV1_ALERT_PROTOCOL_VERSION'), {
    secure: { identity: { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } },
  }),
  secured('TLS 1.2', answers, 200, { staysOpen: true, secure: { identity: { ...good, maxVersion: 'TLSv1.2' } } }),
  secured('no cipher in common', answers, disliked('SSLV3_ALERT_HANDSHAKE_FAILURE'), {
    secure: { identity: { ...good, maxVersion: 'TLSv1.2', ciphers: 'PSK-AES128-CBC-SHA256' } },
  }),
  secured("a wish for the sender's certificate, TLS 1.2", answers, disliked('SSLV3_ALERT_BAD_CERTIFICATE'), {
    secure: { identity: { ...good, requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' } },
  }),
  secured(
    "a wish for the sender's certificate, TLS 1.3",
    answers,
    [reset, 'no response (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED)'],
    {
      secure: { identity: { ...good, requestCert: true, rejectUnauthorized: true } },
    },
  ),
]

/** Passes on what two others say to each other, from so many milliseconds after the start on. */
const passingOn = (port: () => number, milliseconds: number): Behaviour => ({
  onConnection: (connection) => {
    connection.pause()
    setTimeout(() => {
      const further = connect(port(), '127.0.0.1')
      further.on('error', () => connection.destroy())
      connection.on('close', () => further.destroy())
      connection.pipe(further).pipe(connection)
    }, milliseconds)
  },
})

const renegotiate = (connection: Socket, done: () => void): void => {
  if (connection instanceof TLSSocket) connection.renegotiate({}, done)
}

const head = 'HTTP/1.1 200 OK\r\n'
const body = `${head}content-length: 1000000\r\n\r\n`

const responses: ReadonlyArray<Row> = [
  secured('silence', {}, noResponse, { takes: threeSeconds }),
  secured(
    'a response of 3.5 seconds',
    { onRequest: (connection) => setTimeout(() => connection.write(empty), 3_500) },
    noResponse,
    { takes: threeSeconds },
  ),
  secured(
    'headers that drip',
    {
      onRequest: (connection) => {
        connection.write(head)
        every(100, connection, () => connection.write('a: b\r\n'))
      },
    },
    noResponse,
    { takes: threeSeconds },
  ),
  secured(
    'a body that drips',
    {
      onRequest: (connection) => {
        connection.write(body)
        every(100, connection, () => connection.write('x'))
      },
    },
    200,
    { takes: threeSeconds },
  ),
  secured(
    'a flood of headers',
    {
      onRequest: (connection) => {
        connection.write(head)
        flood(connection, `a: ${'x'.repeat(1_000)}\r\n`)
      },
    },
    noStatus,
  ),
  secured(
    'a flood',
    {
      onRequest: (connection) => {
        connection.write(body)
        flood(connection, 'x'.repeat(60_000))
      },
    },
    200,
  ),
  secured(
    'no HTTP',
    { onRequest: (connection) => connection.write('hello') },
    'no valid response (HPE_INVALID_CONSTANT)',
  ),
  secured('an end', { onRequest: (connection) => connection.end() }, reset),
  secured('a close', { onRequest: (connection) => connection.destroy() }, reset),
  secured('an answer and an end', { onRequest: (connection) => connection.end(empty) }, 200),
  secured('a second answer', { onRequest: (connection) => connection.write(empty + empty) }, 200),
  secured(
    'a second answer, a little later',
    {
      onRequest: (connection) => {
        connection.write(empty)
        setTimeout(() => connection.write(empty), 20)
      },
    },
    200,
  ),
  secured(
    'a new handshake before the answer',
    { onRequest: (connection) => renegotiate(connection, () => connection.write(empty)) },
    200,
    { staysOpen: true, secure: { identity: { ...good, maxVersion: 'TLSv1.2' } } },
  ),
  secured(
    'new handshakes for ever',
    {
      onRequest: (connection) => every(50, connection, () => renegotiate(connection, () => undefined)),
    },
    noResponse,
    { takes: threeSeconds, secure: { identity: { ...good, maxVersion: 'TLSv1.2' } } },
  ),
]

test.serial('where the certificate is not the host’s the attempt fails, and nothing is sent', (t) =>
  runRows(t, certificates, trusted),
)
test('a TLS handshake counts as part of connecting (contract 6.6.1)', (t) => runRows(t, handshakes, trusted))
test('a response over TLS has the limits of any other', (t) => runRows(t, responses, trusted))

test('a handshake of 1.6 seconds and a response of 1.6: each has a clock of its own', async (t) => {
  const slow = await openRawReceiver(
    { onRequest: (connection) => setTimeout(() => connection.write(empty), 1_600) },
    good,
  )
  t.teardown(slow.close)
  const row = plain(
    'slow',
    passingOn(() => slow.port, 1_600),
    200,
    { takes: 3_190, staysOpen: true },
  )
  await runRows(t, [row], trusted)
})

test.serial('an attempt fails where a receiver speaks TLS and the URL is http', (t) =>
  runRows(t, [
    { name: 'http', behaviour: answers, identity: good, ends: ['no valid response (HPE_INVALID_CONSTANT)', reset] },
  ]),
)

test('no setting of the environment turns the check of certificates off', async (t) => {
  const receiver = await openRawReceiver(answers, newIdentity({ hosts }, undefined))
  t.teardown(receiver.close)
  const request = requestTo(`https://receiver.test:${receiver.port}/`)
  const [response] = await postWithEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, [request])
  t.is(response?.reason, insecure('DEPTH_ZERO_SELF_SIGNED_CERT'))
  t.is(receiver.requests.length, 0)
})
