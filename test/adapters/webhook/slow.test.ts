import test from 'ava'
import { every, flood, type Behaviour } from './raw-receiver.js'
import { threeSeconds, noConnection, noResponse, noStatus, noSocketIsLeft, runRows, type Row } from './rows.js'

test.after.always('no socket is left', noSocketIsLeft)

const head = 'HTTP/1.1 200 OK\r\n'
const interim = 'HTTP/1.1 102 Processing\r\n\r\n'
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`
const empty = `${head}content-length: 0\r\n\r\n`

/** A piece every so many milliseconds, for ever. */
const drips = (first: string, piece: string, milliseconds = 100): Behaviour => ({
  onRequest: (connection) => {
    connection.write(first)
    every(milliseconds, connection, () => connection.write(piece))
  },
})

/** As much as the connection takes, for ever. */
const floods = (first: string, piece: string): Behaviour => ({
  onRequest: (connection) => {
    connection.write(first)
    flood(connection, piece)
  },
})

/** Each text so many milliseconds after the request. */
const says = (...parts: ReadonlyArray<readonly [number, string]>): Behaviour => ({
  onRequest: (connection) => {
    for (const [milliseconds, text] of parts) {
      const timer = setTimeout(() => connection.write(text), milliseconds)
      connection.once('close', () => clearTimeout(timer))
    }
  },
})

const silent: Behaviour = {}
const twoClocks = 3_990
const theVeryEnd = 4_990

const late: ReadonlyArray<Row> = [
  { name: 'silence', behaviour: silent, ends: noResponse, takes: threeSeconds },
  {
    name: 'a name that is never answered for',
    behaviour: silent,
    host: 'never.test',
    ends: noConnection,
    takes: threeSeconds,
  },
  {
    name: 'a name that takes four seconds',
    behaviour: silent,
    host: 'after-4000-ms.test',
    ends: noConnection,
    takes: threeSeconds,
  },
  {
    name: 'a name and a response of two seconds each: each has a clock of its own',
    behaviour: says([2_000, empty]),
    host: 'after-2000-ms.test',
    ends: 200,
    takes: twoClocks,
    staysOpen: true,
  },
  {
    name: 'silence after a name of two seconds',
    behaviour: silent,
    host: 'after-2000-ms.test',
    ends: noResponse,
    takes: theVeryEnd,
  },
  {
    name: 'a response of 2.5 seconds',
    behaviour: says([2_500, empty]),
    ends: 200,
    takes: 2_490,
    staysOpen: true,
  },
  { name: 'a response of 3.5 seconds', behaviour: says([3_500, empty]), ends: noResponse, takes: threeSeconds },
  { name: 'half a status line', behaviour: says([0, 'HTTP/1.1 20']), ends: noResponse, takes: threeSeconds },
  {
    name: 'a status and no end of the headers',
    behaviour: says([0, `${head}a: b\r\n`]),
    ends: noResponse,
    takes: threeSeconds,
  },
  {
    name: 'a status within the limit and the end of the headers after it',
    behaviour: says([2_000, head], [3_500, 'content-length: 0\r\n\r\n']),
    ends: noResponse,
    takes: threeSeconds,
  },
  {
    name: 'a status line that drips',
    behaviour: drips('HTTP/1.1 200 ', 'O'),
    ends: noResponse,
    takes: threeSeconds,
  },
  {
    name: 'spaces that drip into a status line',
    behaviour: drips('HTTP/1.1', ' ', 50),
    ends: 'no valid response (HPE_INVALID_STATUS)',
  },
  { name: 'headers that drip', behaviour: drips(head, 'a: b\r\n'), ends: noResponse, takes: threeSeconds },
  { name: 'one header that drips', behaviour: drips(`${head}a: `, 'b'), ends: noResponse, takes: threeSeconds },
  { name: 'empty lines that drip', behaviour: drips('', '\r\n'), ends: noResponse, takes: threeSeconds },
  { name: 'interim responses that drip', behaviour: drips('', interim), ends: noResponse, takes: threeSeconds },
  {
    name: 'an interim response restarts no clock',
    behaviour: says([1_500, interim], [3_500, empty]),
    ends: noResponse,
    takes: threeSeconds,
  },
  {
    name: '100 Continue and nothing more',
    behaviour: says([0, 'HTTP/1.1 100 Continue\r\n\r\n']),
    ends: noResponse,
    takes: threeSeconds,
  },
  {
    name: '103 and nothing more',
    behaviour: says([0, 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n']),
    ends: noResponse,
    takes: threeSeconds,
  },
  {
    name: 'interim responses, then a status',
    behaviour: says([0, interim], [300, interim], [600, empty]),
    ends: 200,
    takes: 590,
    staysOpen: true,
  },
  {
    name: 'the answer in pieces',
    behaviour: says([0, 'HT'], [100, 'TP/1.1 2'], [200, '04 \r\n'], [300, '\r\n']),
    ends: 204,
    takes: 290,
    staysOpen: true,
  },
]

const dripping: ReadonlyArray<Row> = [
  { name: '200', behaviour: drips(`${head}content-length: 1000000\r\n\r\n`, 'x'), ends: 200 },
  { name: '500', behaviour: drips('HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n', 'x'), ends: 500 },
  {
    name: '301',
    behaviour: drips('HTTP/1.1 301 No\r\nlocation: /\r\ncontent-length: 1000000\r\n\r\n', 'x'),
    ends: 301,
  },
  { name: 'until the connection closes', behaviour: drips(`${head}\r\n`, 'x'), ends: 200 },
  { name: 'in chunks', behaviour: drips(chunked, '1\r\nx\r\n'), ends: 200 },
  { name: 'in one chunk', behaviour: drips(`${chunked}ffff\r\n`, 'x'), ends: 200 },
  { name: 'the extension of a chunk', behaviour: drips(`${chunked}5;a=`, 'b'), ends: 200 },
  { name: 'trailers', behaviour: drips(`${chunked}0\r\n`, 'a: b\r\n'), ends: 200 },
  { name: 'nothing of the body', behaviour: says([0, `${head}content-length: 5\r\n\r\n`]), ends: 200 },
  { name: 'nothing of the chunks', behaviour: says([0, chunked]), ends: 200 },
  {
    name: 'the status late and the body never',
    behaviour: says([2_900, `${head}content-length: 5\r\n\r\n`]),
    ends: 200,
  },
].map((row) => ({ ...row, name: `a body that drips: ${row.name}`, takes: threeSeconds }))

const long = 'x'.repeat(1_000)

const floodings: ReadonlyArray<Row> = [
  { name: 'headers', behaviour: floods(head, `a: ${long}\r\n`), ends: noStatus },
  { name: 'short headers', behaviour: floods(head, 'a: b\r\n'.repeat(100)), ends: noStatus },
  { name: 'one header', behaviour: floods(`${head}a: `, long), ends: noStatus },
  { name: "one header's name", behaviour: floods(head, long), ends: noStatus },
  { name: 'the reason of a status', behaviour: floods('HTTP/1.1 200 ', long), ends: noStatus },
  {
    name: 'one header of 17 kB',
    behaviour: says([0, `${head}a: ${'x'.repeat(17_000)}\r\ncontent-length: 0\r\n\r\n`]),
    ends: noStatus,
  },
  {
    name: 'headers of 14 kB and no more',
    behaviour: says([0, `${head}${`a: ${long}\r\n`.repeat(14)}content-length: 0\r\n\r\n`]),
    ends: 200,
    staysOpen: true,
  },
  {
    name: '1,900 headers',
    behaviour: says([0, `${head}${'a: b\r\n'.repeat(1_900)}content-length: 0\r\n\r\n`]),
    ends: 200,
    staysOpen: true,
  },
  { name: 'interim responses', behaviour: floods('', interim.repeat(20)), ends: noStatus },
  { name: '100 Continue', behaviour: floods('', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)), ends: noStatus },
  { name: 'empty lines', behaviour: floods('', '\r\n'.repeat(500)), ends: noStatus },
  {
    name: 'a body of a known length',
    behaviour: floods(`${head}content-length: 10000000000\r\n\r\n`, long),
    ends: 200,
  },
  {
    name: 'the body of a 500',
    behaviour: floods('HTTP/1.1 500 No\r\ncontent-length: 10000000000\r\n\r\n', long),
    ends: 500,
  },
  { name: 'the body of a 307', behaviour: floods('HTTP/1.1 307 No\r\nlocation: /\r\n\r\n', long), ends: 307 },
  { name: 'a body until the connection closes', behaviour: floods(`${head}\r\n`, long), ends: 200 },
  { name: 'chunks', behaviour: floods(chunked, `3e8\r\n${long}\r\n`), ends: 200 },
  { name: 'one chunk', behaviour: floods(`${chunked}ffffffff\r\n`, long), ends: 200 },
  { name: 'small chunks', behaviour: floods(chunked, '1\r\nx\r\n'.repeat(100)), ends: 200 },
  { name: 'the extension of a chunk', behaviour: floods(`${chunked}5;a=`, long), ends: 200 },
  { name: 'trailers', behaviour: floods(`${chunked}0\r\n`, `a: ${long}\r\n`), ends: 200 },
].map((row) => ({ ...row, name: `a flood: ${row.name}` }))

test('an attempt fails where the receiver is late, unless its status comes in time (contract 6.6.1)', (t) =>
  runRows(t, late))
test('a status that came in time decides, whatever the body does until the timeout (contract 6.6.2)', (t) =>
  runRows(t, dripping))
test.serial('a flood is cut off at once, and a status before it decides', (t) => runRows(t, floodings))
