import test from 'ava'
import type { Socket } from 'node:net'
import type { Behaviour } from './raw-receiver.js'
import { threeSeconds, noResponse, reset, noSocketIsLeft, runRows, type Row } from './rows.js'

test.after.always('no socket is left', noSocketIsLeft)

const empty = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

/** Milliseconds until whatever was written has been read. */
const read = 100

const closings: Readonly<Record<string, (connection: Socket) => unknown>> = {
  'a reset': (connection) => connection.resetAndDestroy(),
  'an end': (connection) => connection.end(),
  'a close': (connection) => connection.destroy(),
}

const stages: Readonly<Record<string, readonly [string, number | string]>> = {
  'before the status': ['', reset],
  'in the protocol': ['HT', reset],
  'in the status': ['HTTP/1.1 20', reset],
  'in the reason': ['HTTP/1.1 200 O', reset],
  'after the status line': ['HTTP/1.1 200 OK\r\n', reset],
  'in the headers': ['HTTP/1.1 200 OK\r\ncontent-le', reset],
  'before the last line feed': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r', reset],
  'after an interim response': ['HTTP/1.1 102 x\r\n\r\n', reset],
  'after the headers': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n', 200],
  'in the body': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel', 200],
  'in the body of a 500': ['HTTP/1.1 500 x\r\ncontent-length: 5\r\n\r\nhel', 500],
  'in the size of a chunk': ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1', 200],
  'in a chunk': ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel', 200],
  'before the last chunk': ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', 200],
  'in a body without a length': ['HTTP/1.1 200 OK\r\n\r\nhel', 200],
  'after the response': [empty, 200],
}

const broken = Object.entries(stages).flatMap(([stage, [written, ends]]) =>
  Object.entries(closings).map(([closing, close]): Row => {
    const behaviour: Behaviour = {
      onRequest: (connection) => {
        connection.write(written)
        setTimeout(() => close(connection), read)
      },
    }
    // A body without a length ends with the connection.
    return { name: `${closing} ${stage}`, behaviour, ends }
  }),
)

const atOnce = Object.entries(closings).map(([closing, close]): Row => ({
  name: `${closing} once the connection stands`,
  behaviour: { onConnection: (connection) => void close(connection) },
  ends: [reset, 'no response (EPIPE)'],
}))

const inOneGo: ReadonlyArray<Row> = [
  { name: 'an answer and an end', behaviour: { onRequest: (connection) => connection.end(empty) }, ends: 200 },
  {
    name: 'an answer that says that the connection closes, and an end',
    behaviour: {
      onRequest: (connection) => connection.end(empty.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')),
    },
    ends: 200,
  },
  {
    name: 'an answer that says that the connection closes, and no end',
    behaviour: {
      onRequest: (connection) => connection.write(empty.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')),
    },
    ends: 200,
  },
  {
    name: 'an answer that says that the connection closes within a second',
    behaviour: {
      onRequest: (connection) => connection.write(empty.replace('\r\n\r\n', '\r\nkeep-alive: timeout=1\r\n\r\n')),
    },
    ends: 200,
  },
  {
    name: 'an end before the answer, which is a half-close',
    behaviour: {
      onRequest: (connection) => {
        connection.end()
      },
    },
    ends: reset,
  },
]

const early: ReadonlyArray<Row> = [
  {
    name: 'an answer before the request',
    behaviour: { onConnection: (connection) => connection.write(empty) },
    ends: 200,
    staysOpen: true,
  },
  {
    name: 'a 500 before the request, and an end',
    behaviour: { onConnection: (connection) => connection.end('HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n') },
    ends: 500,
  },
  {
    name: 'a banner before the request',
    behaviour: { onConnection: (connection) => connection.write('220 ready\r\n') },
    ends: 'no valid response (HPE_INVALID_CONSTANT)',
  },
]

/** More than the buffers of the system take. */
const large = JSON.stringify({ a: 'x'.repeat(16_000_000) })

/** Reads nothing of the request for a while, and does something at once. */
const unread = (does: (connection: Socket) => void): Behaviour => ({
  onConnection: (connection) => {
    connection.pause()
    does(connection)
    setTimeout(() => connection.resume(), 1_000)
  },
})

const beforeTheRequestIsWhole: ReadonlyArray<Row> = [
  { name: 'a 200', behaviour: unread((connection) => connection.write(empty)), body: large, ends: 200 },
  {
    name: 'a 413',
    behaviour: unread((connection) => connection.write('HTTP/1.1 413 x\r\ncontent-length: 0\r\n\r\n')),
    body: large,
    ends: 413,
  },
  {
    name: 'a 413 that says that the connection closes, and an end',
    behaviour: unread((connection) =>
      connection.end('HTTP/1.1 413 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
    ),
    body: large,
    ends: 413,
  },
  { name: 'nothing', behaviour: unread(() => undefined), body: large, ends: noResponse, takes: threeSeconds },
  {
    name: 'a whole request of 16 MB',
    behaviour: { onRequest: (connection) => connection.write(empty) },
    body: large,
    ends: 200,
    staysOpen: true,
  },
]

const twice: ReadonlyArray<Row> = [
  { name: 'the same', behaviour: { onRequest: (connection) => connection.write(empty + empty) }, ends: 200 },
  { name: 'garbage', behaviour: { onRequest: (connection) => connection.write(`${empty}garbage`) }, ends: 200 },
  { name: 'NUL bytes', behaviour: { onRequest: (connection) => connection.write(`${empty}\0\0\0\0`) }, ends: 200 },
  ...Object.entries({
    'the same': empty,
    garbage: 'garbage',
    'an empty line': '\r\n',
    'an interim response': 'HTTP/1.1 102 x\r\n\r\n',
  }).map(([name, rest]): Row => ({
    name: `${name}, a little later`,
    behaviour: {
      onRequest: (connection) => {
        connection.write(empty)
        setTimeout(() => connection.write(rest), 20)
      },
    },
    ends: 200,
  })),
]

test.serial('a connection that breaks fails the attempt before the status, and not after it', (t) =>
  runRows(t, [...atOnce, ...broken]),
)
test.serial('an answer decides, however its connection ends', (t) => runRows(t, inOneGo))
test.serial('an answer that comes before the request decides', (t) => runRows(t, early))
test.serial('an answer that comes before the whole request was sent decides', (t) =>
  runRows(t, beforeTheRequestIsWhole),
)
test.serial('what comes after an answer closes the connection', (t) => runRows(t, twice))
