import test from 'ava'
import { openRawReceiver } from './raw-receiver.js'
import { threeSeconds, noSocketIsLeft, runRows, type Row } from './rows.js'

test.after.always('no socket is left', noSocketIsLeft)

const statuses = [300, 301, 302, 303, 304, 305, 306, 307, 308, 399]

test.serial('no redirect is followed, wherever it leads to (contract 6.6.2)', async (t) => {
  const trap = await openRawReceiver({})
  t.teardown(trap.close)
  const elsewhere = [
    ...[`http://127.0.0.1:${trap.port}/`, `http://127.0.0.2:${trap.port}/`, `//127.0.0.1:${trap.port}/`],
    ...[
      `http://other.test:${trap.port}/`,
      `https://127.0.0.1:${trap.port}/`,
      `http://user:secret@127.0.0.1:${trap.port}/`,
    ],
    ...[
      '/other',
      'other',
      '?again',
      '',
      '..',
      'http://',
      'http://[',
      'http://169.254.169.254/',
      '\u00e4',
      '//',
      '\\\\',
    ],
    ...[
      'file:///etc/passwd',
      'data:text/plain,ok',
      'javascript:alert(1)',
      'ftp://127.0.0.1/',
      'unix:/var/run/docker.sock',
    ],
  ]
  const redirects = statuses.flatMap((status) =>
    elsewhere.map((location): Row => {
      const headers = `HTTP/1.1 ${status} x\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`
      return {
        name: `${status} to ${location}`,
        behaviour: { onRequest: (connection) => connection.write(headers) },
        ends: status,
        staysOpen: true,
      }
    }),
  )
  for (let from = 0; from < redirects.length; from += 50) await runRows(t, redirects.slice(from, from + 50))
  t.is(trap.made(), 0)
})

test.serial('a redirect to nowhere, to several places and one whose body never ends', (t) => {
  const answers = (name: string, answer: string, row: Partial<Row> = {}): Row => ({
    name,
    behaviour: { onRequest: (connection) => connection.write(answer) },
    ends: 302,
    staysOpen: true,
    ...row,
  })
  const moved = 'HTTP/1.1 302 x\r\n'
  return runRows(t, [
    answers('no location', `${moved}content-length: 0\r\n\r\n`),
    answers('two locations', `${moved}location: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n`),
    answers('refresh', 'HTTP/1.1 200 x\r\nrefresh: 0; url=/a\r\ncontent-length: 0\r\n\r\n', { ends: 200 }),
    answers('a location with a 201', 'HTTP/1.1 201 x\r\nlocation: /a\r\ncontent-length: 0\r\n\r\n', { ends: 201 }),
    answers('no end', `${moved}location: /a\r\n\r\nhello`, { staysOpen: false, takes: threeSeconds }),
  ])
})
