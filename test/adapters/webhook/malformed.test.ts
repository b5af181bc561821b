import test from 'ava'
import { gzipSync } from 'node:zlib'
import type { Behaviour } from './raw-receiver.js'
import { threeSeconds, noStatus, reset, noSocketIsLeft, runRows, token, type Row } from './rows.js'

test.after.always('no socket is left', noSocketIsLeft)

const says = (answer: string | Buffer): Behaviour => ({ onRequest: (connection) => connection.write(answer) })

const ends = (answer: string | Buffer): Behaviour => ({ onRequest: (connection) => connection.end(answer) })

const invalid = (code: string): string => `no valid response (HPE_${code})`

/** The first line of an answer without a body, and how the attempt ends. */
const statusLine = (line: string, end: number | string, staysOpen = false): Row => ({
  name: `the status line ${JSON.stringify(line)}`,
  behaviour: says(`${line}\r\ncontent-length: 0\r\n\r\n`),
  ends: end,
  staysOpen,
})

const statusLines: ReadonlyArray<Row> = [
  statusLine('HTTP/1.1 abc OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1 20 OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1 2000 OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1  200 OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1 -200 OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1 2OO OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1 200OK', invalid('INVALID_STATUS')),
  statusLine('HTTP/1.1', invalid('INVALID_VERSION')),
  statusLine('HTTP/1.1\t200 OK', invalid('INVALID_VERSION')),
  statusLine('HTTP/11 200 OK', invalid('INVALID_VERSION')),
  statusLine('HTTP/9.9 200 OK', invalid('INVALID_VERSION')),
  statusLine('HTTX/1.1 200 OK', invalid('INVALID_CONSTANT')),
  statusLine('http/1.1 200 OK', invalid('INVALID_CONSTANT')),
  statusLine('ICY 200 OK', invalid('INVALID_CONSTANT')),
  statusLine('200 OK', invalid('INVALID_CONSTANT')),
  statusLine('OK', invalid('INVALID_CONSTANT')),
  statusLine(' HTTP/1.1 200 OK', invalid('INVALID_CONSTANT')),
  statusLine('POST / HTTP/1.1', invalid('INVALID_CONSTANT')),
  statusLine('220 mail.example.com ESMTP', invalid('INVALID_CONSTANT')),
  statusLine('HTTP/1.1 200', 200, true),
  statusLine('HTTP/1.1 200 ', 200, true),
  statusLine('HTTP/1.1 299 Sch\u00f6n \u2603', 299, true),
  statusLine('HTTP/1.1 000 OK', 0, true),
  statusLine('HTTP/1.1 600 OK', 600, true),
  statusLine('HTTP/1.1 999 OK', 999, true),
  statusLine('\r\n\r\nHTTP/1.1 200 OK', 200, true),
  statusLine('HTTP/1.0 200 OK', 200),
  { name: 'HTTP/0.9', behaviour: ends('<html>ok</html>'), ends: invalid('INVALID_CONSTANT') },
  { name: 'JSON and nothing else', behaviour: ends('{"ok":true}'), ends: invalid('INVALID_CONSTANT') },
  {
    name: 'the preface of HTTP/2',
    behaviour: says('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    ends: invalid('INVALID_CONSTANT'),
  },
  {
    name: 'the settings of HTTP/2',
    behaviour: says(Buffer.from('00000604000000000000030000006400000408000000000000', 'hex')),
    ends: invalid('INVALID_CONSTANT'),
  },
  { name: 'an alert of TLS', behaviour: ends(Buffer.from('15030100020246', 'hex')), ends: invalid('INVALID_CONSTANT') },
  { name: 'NUL bytes', behaviour: says('\0'.repeat(1_000)), ends: invalid('INVALID_CONSTANT') },
  { name: 'noise', behaviour: says(Buffer.from('fffefdfc8081', 'hex')), ends: invalid('INVALID_CONSTANT') },
  {
    name: 'what was sent',
    behaviour: { onRequest: (connection, request) => connection.write(request) },
    ends: invalid('INVALID_CONSTANT'),
  },
]

/** The headers of a 200 and what follows them. */
const headers = (name: string, lines: string, end: number | string, row: Partial<Row> = {}): Row => ({
  name,
  behaviour: says(`HTTP/1.1 200 OK\r\n${lines}`),
  ends: end,
  ...row,
})

const headerRows: ReadonlyArray<Row> = [
  headers('a negative length', 'content-length: -5\r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers('a length in words', 'content-length: five\r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers('a length in hexadecimal', 'content-length: 0x5\r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers('a length with a sign', 'content-length: +5\r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers('a length of 2^64', 'content-length: 18446744073709551616\r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers('no length', 'content-length: \r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers('two lengths', 'content-length: 5, 6\r\n\r\nhello', invalid('INVALID_CONTENT_LENGTH')),
  headers(
    'a length twice',
    'content-length: 5\r\ncontent-length: 5\r\n\r\nhello',
    invalid('UNEXPECTED_CONTENT_LENGTH'),
  ),
  headers(
    'lengths that differ',
    'content-length: 5\r\ncontent-length: 6\r\n\r\nhello',
    invalid('UNEXPECTED_CONTENT_LENGTH'),
  ),
  headers(
    'a length and chunks',
    'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    invalid('INVALID_TRANSFER_ENCODING'),
  ),
  headers(
    'chunks and a length',
    'transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n',
    invalid('INVALID_CONTENT_LENGTH'),
  ),
  headers('a header without a colon', 'nothing\r\ncontent-length: 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('a header without a name', ': nothing\r\ncontent-length: 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('a space in a name', 'a b: c\r\ncontent-length: 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('a space before the colon', 'content-length : 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('a NUL in a name', 'a\0b: c\r\ncontent-length: 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('a NUL in a value', 'a: b\0c\r\ncontent-length: 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('a carriage return in a value', 'a: b\rc\r\ncontent-length: 0\r\n\r\n', invalid('LF_EXPECTED')),
  headers('lines that end in a line feed', 'a: b\ncontent-length: 0\n\n', invalid('CR_EXPECTED')),
  headers('a folded header', 'a: b\r\n c\r\ncontent-length: 0\r\n\r\n', invalid('INVALID_HEADER_TOKEN')),
  headers('bytes beyond ASCII in a value', 'a: \u00ff\u2603\r\ncontent-length: 0\r\n\r\n', 200, { staysOpen: true }),
  headers('a prototype', '__proto__: a\r\nconstructor: b\r\ncontent-length: 0\r\n\r\n', 200, { staysOpen: true }),
  headers('an upgrade', 'upgrade: h2c\r\nconnection: upgrade\r\ncontent-length: 0\r\n\r\n', 200, { staysOpen: true }),
  headers('the token', `a: ${token}\r\nset-cookie: ${token}\r\n${token}: b\r\ncontent-length: 0\r\n\r\n`, 200, {
    staysOpen: true,
    excerpt: '',
  }),
]

const bodies: ReadonlyArray<Row> = [
  headers('a length that is too short', 'content-length: 2\r\n\r\nhello', 200),
  headers('a length of nothing', 'content-length: 0\r\n\r\nhello', 200),
  headers('a length that is too long', 'content-length: 9\r\n\r\nhello', 200, { takes: threeSeconds }),
  headers('no length and no end', '\r\nhello', 200, { takes: threeSeconds }),
  { name: 'no length and an end', behaviour: ends('HTTP/1.1 200 OK\r\n\r\nhello'), ends: 200, excerpt: 'hello' },
  {
    name: 'a length and an end too early',
    behaviour: ends('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello'),
    ends: 200,
  },
  headers('no chunk', 'transfer-encoding: chunked\r\n\r\nhello', 200),
  headers('a chunk of a negative size', 'transfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n', 200),
  headers('a chunk of 2^64 bytes', 'transfer-encoding: chunked\r\n\r\n10000000000000000\r\nhello\r\n0\r\n\r\n', 200),
  headers('a chunk that is longer than it says', 'transfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n', 200),
  headers('a chunk without a size', 'transfer-encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n', 200),
  headers('chunks whose lines end in a line feed', 'transfer-encoding: chunked\r\n\r\n5\nhello\n0\n\n', 200),
  headers('a broken trailer', 'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nno trailer\r\n\r\n', 200),
  {
    name: 'chunks without an end',
    behaviour: ends('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'),
    ends: 200,
  },
  headers('chunks twice', 'transfer-encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', 200, {
    staysOpen: true,
    excerpt: 'hello',
  }),
  headers('a transfer encoding that nobody knows', 'transfer-encoding: none\r\n\r\nhello', 200, {
    takes: threeSeconds,
  }),
  headers('NUL bytes', 'content-length: 5\r\n\r\n\0a\0b\0', 200, { staysOpen: true, excerpt: '\ufffda\ufffdb\ufffd' }),
  headers('control characters', 'content-length: 9\r\n\r\na\x1b[31mb\x7f\t', 200, {
    staysOpen: true,
    excerpt: 'a\ufffd[31mb\ufffd',
  }),
  {
    name: 'bytes that are no UTF-8',
    behaviour: says(
      Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\na'), Buffer.from('ffc3fe', 'hex')]),
    ),
    ends: 200,
    staysOpen: true,
    excerpt: 'a\ufffd\ufffd\ufffd',
  },
  headers('the token', `content-length: ${token.length * 2 + 4}\r\n\r\n<${token}>\n${token}\n`, 200, {
    staysOpen: true,
    excerpt: '<\u2026> \u2026',
  }),
  headers('the token, cut by the length', `content-length: 10\r\n\r\n${token}`, 200),
  headers(
    'the token in two chunks',
    `transfer-encoding: chunked\r\n\r\na\r\n${token.slice(0, 10)}\r\na\r\n${token.slice(10)}\r\n0\r\n\r\n`,
    200,
    { staysOpen: true, excerpt: '\u2026' },
  ),
  headers('a cookie', 'set-cookie: a=b\r\ncontent-length: 0\r\n\r\n', 200, { staysOpen: true }),
]

const withoutBody = [204, 205, 304].flatMap((status): ReadonlyArray<Row> => [
  {
    name: `a ${status}`,
    behaviour: says(`HTTP/1.1 ${status} x\r\n\r\n`),
    ends: status,
    staysOpen: status !== 205,
    ...(status === 205 ? { takes: threeSeconds } : {}),
  },
  {
    name: `a ${status} with a length`,
    behaviour: says(`HTTP/1.1 ${status} x\r\ncontent-length: 5\r\n\r\nhello`),
    ends: status,
    staysOpen: status === 205,
  },
  {
    name: `a ${status} with chunks`,
    behaviour: says(`HTTP/1.1 ${status} x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    ends: status,
    staysOpen: status === 205,
  },
])

const bomb = gzipSync(Buffer.alloc(8_000_000))
const packed = (name: string, encoding: string, body: Buffer, row: Partial<Row> = {}): Row => ({
  name,
  behaviour: says(
    Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n\r\n`),
      body,
    ]),
  ),
  ends: 200,
  staysOpen: true,
  ...row,
})

const compressed: ReadonlyArray<Row> = [
  packed('a bomb', 'gzip', bomb),
  packed('a bomb in a bomb', 'gzip, gzip', gzipSync(bomb)),
  packed('no gzip', 'gzip', Buffer.from('hello'), { excerpt: 'hello' }),
  packed('no deflate', 'deflate', Buffer.from('hello'), { excerpt: 'hello' }),
  packed('no brotli', 'br', Buffer.from('hello'), { excerpt: 'hello' }),
  packed('half a gzip', 'gzip', gzipSync('hello').subarray(0, 12)),
]

const informational: ReadonlyArray<Row> = [
  {
    name: '100, then 200',
    behaviour: says('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
    ends: 200,
    staysOpen: true,
  },
  {
    name: '103 three times, then 204',
    behaviour: says(`${'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n'.repeat(3)}HTTP/1.1 204 x\r\n\r\n`),
    ends: 204,
    staysOpen: true,
  },
  {
    name: '103, then 500',
    behaviour: says('HTTP/1.1 103 x\r\n\r\nHTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n'),
    ends: 500,
    staysOpen: true,
  },
  { name: '100 and the end', behaviour: ends('HTTP/1.1 100 Continue\r\n\r\n'), ends: reset },
  {
    name: '101',
    behaviour: says('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    ends: 'no response (closed)',
  },
  {
    name: '101 that upgrades to nothing, then 200',
    behaviour: says('HTTP/1.1 101 x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
    ends: 101,
    staysOpen: true,
  },
  {
    name: '199 with a body',
    behaviour: says('HTTP/1.1 199 x\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
    ends: invalid('INVALID_CONSTANT'),
  },
  { name: '16 kB of 100', behaviour: says('HTTP/1.1 100 Continue\r\n\r\n'.repeat(700)), ends: noStatus },
]

test.serial('a status line decides, or is not valid (contract 6.6.2)', (t) => runRows(t, statusLines))
test.serial('headers that are not valid are a failure', (t) => runRows(t, headerRows))
test('no body changes what the status says', (t) => runRows(t, bodies))
test('a status without a body may have one', (t) => runRows(t, withoutBody))
test.serial('nothing is inflated', (t) => runRows(t, compressed))
test.serial('interim responses are no status', (t) => runRows(t, informational))
