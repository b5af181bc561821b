import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { webhookClient } from '../../../adapters/webhook/client.js'
import { excerptOf } from '../../../adapters/webhook/excerpt.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { holds } from '../../kit/domain/property.js'
import { every, openRawReceiver, type Behaviour } from './raw-receiver.js'
import { requestTo, resolve, slowTime, token } from './rows.js'

const of = (body: string, secret = token): string => excerptOf(Buffer.from(body), secret)

test('an excerpt is the beginning of the body, on one line', (t) => {
  t.is(of(''), '')
  t.is(of('ok'), 'ok')
  t.is(of('{\r\n  "error": "no such\thook"\n}\n'), '{ "error": "no such hook" }')
  t.is(of('Zo\u00eb \u2603 \u{1f600}'), 'Zo\u00eb \u2603 \u{1f600}')
  t.is(of('x'.repeat(500)), 'x'.repeat(500))
  t.is(of('x'.repeat(501)), 'x'.repeat(500))
  t.is(of(`${'x'.repeat(499)}\u{1f600}`), 'x'.repeat(499), 'no half of a character')
})

test('what is not printable is replaced', (t) => {
  const unprintable = [
    '\0',
    '\x1b',
    '\x7f',
    '\x85',
    '\u009f',
    '\u200b',
    '\u202e',
    '\u2066',
    '\ue000',
    '\ufff9',
    '\u{e0001}',
  ]
  for (const one of unprintable) t.regex(of(`a${one}b`), /^a[\ufffd ]b$/u, encodeURIComponent(one))
  t.is(of('a\u2028b\u2029c\u00a0d'), 'a b c d')
  t.is(excerptOf(Buffer.from('61ff62c328c0', 'hex'), token), 'a\ufffdb\ufffd(\ufffd')
})

test('the token is cut out wherever it stands, and however JSON or a URL spell it', (t) => {
  t.is(of(token), '\u2026')
  t.is(of(`${token}${token}`), '\u2026\u2026')
  t.is(of(`Bearer ${token} is not ${token.toUpperCase()}`), `Bearer \u2026 is not ${token.toUpperCase()}`)
  t.is(of(JSON.stringify({ authorization: 'Bearer a"b\\c/d' }), 'a"b\\c/d'), '{"authorization":"Bearer \u2026"}')
  t.is(of('{"a":"b\\/c\\/d"}', 'b/c/d'), '{"a":"\u2026"}')
  t.is(of('/hook?token=a%2Fb%3D', 'a/b='), '/hook?token=\u2026')
  t.is(of('tok+tok+tok', 'tok'), '\u2026+\u2026+\u2026')
  t.is(of('ttokok', 'tok'), 't\u2026ok')
  t.is(of('aaa', 'a'), '\u2026\u2026\u2026')
})

test('no part of a token stands at the end, where it was cut', (t) => {
  for (let length = 4; length < token.length; length += 1) {
    t.is(of(`no ${token.slice(0, length)}`), 'no \u2026', String(length))
  }
  t.is(of('no tok'), 'no tok', 'three characters may be anything')
  t.is(of(`${'x'.repeat(490)}${token}`), `${'x'.repeat(490)}\u2026`)
})

test('whatever comes, an excerpt is short, printable and without the token', (t) => {
  const tokens = fc.oneof(
    fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 40,
    }),
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 6 }),
  )
  const property = fc.property(
    tokens,
    fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 30 }),
        fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '"') }),
        fc.nat(40),
      ),
      { maxLength: 60 },
    ),
    (secret, parts) => {
      const body = parts
        .map((part) => (typeof part === 'number' ? secret.slice(0, part) : part))
        .map((part) => Buffer.from(part))
      const excerpt = excerptOf(Buffer.concat(body), secret)
      assert.ok(excerpt.length <= 500)
      assert.doesNotMatch(excerpt, /[\p{C}\p{Zl}\p{Zp}\n\r\t]/u)
      assert.ok(!excerpt.includes(secret))
      for (let length = 4; length < secret.length; length += 1) assert.ok(!excerpt.endsWith(secret.slice(0, length)))
    },
  )
  holds(t, property, { numRuns: 1_000 })
})

/** What is shown of a body that comes in pieces. */
const shown = async (
  behaviour: Behaviour,
  monotonic: MonotonicClock = slowTime,
): Promise<string | null | undefined> => {
  const receiver = await openRawReceiver(behaviour)
  const client = webhookClient({ allowPrivate: true, resolve, monotonic })
  const { excerpt } = await client.send(requestTo(`http://127.0.0.1:${receiver.port}/`), new AbortController().signal)
  client.close()
  await receiver.close()
  return excerpt
}

const head = 'HTTP/1.1 500 x\r\n'

test('a body that is cut off is shown as far as it came', async (t) => {
  const all = await Promise.all([
    shown(
      {
        onRequest: (connection) => {
          connection.write(`${head}content-length: 1000000\r\n\r\nwrong: `)
          for (let n = 0; n < token.length; n += 1) setTimeout(() => connection.write(token.charAt(n)), 20 + n * 2)
        },
      },
      monotonicClock,
    ),
    shown({
      onRequest: (connection) => {
        connection.write(`${head}content-length: 1000000\r\n\r\nwrong: ${token.slice(0, 9)}`)
        setTimeout(() => connection.destroy(), 50)
      },
    }),
    shown({
      onRequest: (connection) => {
        connection.write(`${head}\r\n`)
        every(1, connection, () => connection.write(token))
      },
    }),
    shown({ onRequest: (connection) => connection.end(`${head}\r\n${'\u00e4'.repeat(3_000)}${token}`) }),
  ])
  const tokens = Math.ceil(8_192 / token.length)
  t.deepEqual(all, ['wrong: \u2026', 'wrong: \u2026', '\u2026'.repeat(tokens), '\u00e4'.repeat(500)])
})
