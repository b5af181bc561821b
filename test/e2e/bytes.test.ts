import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { strict as assert } from 'node:assert'
import { request as openRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { bearer, having, namedIn, send, sendRaw, type Answer, type Sent } from '../kit/network/http.js'
import { codePoint } from '../kit/domain/code-point.js'
import { holdsAsync } from '../kit/domain/property.js'
import { idsOf, openAccount, type Account } from '../kit/service/account.js'
import { formLead, lead, nested, newPhone, withExtra } from '../kit/service/leads.js'
import { serviceProcessForFile } from '../kit/service/service-process.js'
import { operatorKey } from '../kit/service/settings.js'

const site = serviceProcessForFile()

const json = { 'content-type': 'application/json' } as const
const form = { 'content-type': 'application/x-www-form-urlencoded' } as const

const post = (url: string, body: Sent['body'], headers: Sent['headers'] = json): Promise<Answer> =>
  send(url, { method: 'POST', headers, ...(body === undefined ? {} : { body }) })

/** A client's own fault: never a 5xx, and never taken for a valid submission. */
const isRefusal = (status: number | undefined): boolean => status !== undefined && status >= 400 && status < 500

/** Taken or refused, never a 5xx. */
const isSound = (status: number | undefined): boolean => status === 200 || isRefusal(status)

const assertSound = (answer: Answer): void => assert.ok(isSound(answer.status), `${answer.status}: ${answer.text}`)

/** Whatever came before, the next good request is answered. */
const isWell = async (t: ExecutionContext): Promise<void> => {
  const account = await openAccount(site)
  t.is((await account.submit(lead())).status, 200)
  t.is((await send(`${site.url}/health/live`)).status, 200)
}

test('arbitrary bytes are refused, as JSON as well as a form', async (t) => {
  const { postUrl } = await openAccount(site)
  const bytes = fc.tuple(fc.uint8Array({ maxLength: 3_000 }), fc.constantFrom(json, form))
  const property = fc.asyncProperty(bytes, async ([body, headers]) => {
    const answer = await post(postUrl, body, headers)
    assert.ok(isRefusal(answer.status), `${answer.status}: ${answer.text}`)
    assert.ok((answer.body.errors ?? []).length > 0)
  })
  await holdsAsync(t, property, { numRuns: 150, includeErrorInReport: true })
  await isWell(t)
})

test('a JSON lead that is cut off anywhere is 400', async (t) => {
  const account = await openAccount(site)
  const whole = Buffer.from(JSON.stringify(lead({ first_name: 'Zoë' })))
  const cuts = Array.from({ length: whole.length - 1 }, (_, index) => index + 1)
  const answers = await Promise.all(cuts.map((cut) => post(account.postUrl, whole.subarray(0, cut))))
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [400])
  t.is((await post(account.postUrl, whole)).status, 200)
})

test('a JSON lead with any byte changed is accepted or refused', async (t) => {
  const { postUrl } = await openAccount(site)
  const whole = Buffer.from(JSON.stringify(lead()))
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255))
  const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
    const changed = Buffer.from(whole)
    for (const [at, byte] of changes) changed[at] = byte
    assertSound(await post(postUrl, changed))
  })
  await holdsAsync(t, property, { numRuns: 150, includeErrorInReport: true })
  await isWell(t)
})

const asStored = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

test('any JSON value under any name is accepted or refused, and what is accepted can be read', async (t) => {
  const account = await openAccount(site)
  const name = fc.oneof(fc.string({ unit: codePoint, maxLength: 30 }), fc.constantFrom(...Object.keys(lead())))
  const property = fc.asyncProperty(fc.dictionary(name, fc.jsonValue(), { maxKeys: 12 }), async (extra) => {
    const answer = await account.submit({ ...lead(), ...extra })
    assertSound(answer)
    if (answer.status !== 200) return
    const contact = having(await account.rest(`/contacts/${idsOf(answer).contact_id}`), 'contact')
    for (const [field, value] of Object.entries(extra)) {
      if (typeof value !== 'string' || value.trim() === '' || field in lead()) continue
      assert.equal(contact.additional_info[asStored(field)], asStored(value))
    }
  })
  await holdsAsync(t, property, { numRuns: 200, includeErrorInReport: true })
  await isWell(t)
})

test('a field is stored as the number that was sent, in an object or a list as a number where it keeps its digits', async (t) => {
  const account = await openAccount(site)
  const stored = async (number: string) => {
    const answer = await post(account.postUrl, withExtra(`"one":${number},"more":{"list":[${number}]}`))
    const contact = having(await account.rest(`/contacts/${idsOf(answer).contact_id}`), 'contact')
    return [contact.additional_info['one'], contact.additional_info['more']]
  }
  const held = fc
    .tuple(fc.integer(), fc.stringMatching(/^(\.\d{1,5})?$/), fc.constantFrom('', 'e3', 'E-2', 'e+05'))
    .map((parts) => parts.join(''))
  const isNumber = fc.asyncProperty(held, async (number) => {
    assert.deepEqual(await stored(number), [number, `{"list":[${Number(number)}]}`])
  })
  await holdsAsync(t, isNumber, { numRuns: 60, includeErrorInReport: true })
  const long = fc.bigInt({ min: 2n ** 52n, max: 2n ** 55n })
  const keepsDigits = fc.asyncProperty(long, async (number) => {
    const item = String(Number(number)) === `${number}` ? number : `"${number}"`
    assert.deepEqual(await stored(`${number}`), [`${number}`, `{"list":[${item}]}`])
  })
  await holdsAsync(t, keepsDigits, { numRuns: 60, includeErrorInReport: true })
  for (const lost of ['1e400', '-1e-400', '3.14159265358979323846', '1e400000']) {
    t.deepEqual(await stored(lost), [lost, `{"list":["${lost}"]}`])
  }
})

test('any JSON value as the whole body is refused by every call that takes one', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const inAccount = `${site.url}/manage/v1/accounts/${account.id}`
  const operator = { ...json, ...bearer(operatorKey) }
  const calls = [
    ['POST', account.postUrl, json],
    ['POST', `${site.url}/api/v3/conversions/${sold}/events`, { ...json, ...bearer(account.apiKey) }],
    ['POST', `${site.url}/manage/v1/accounts`, operator],
    ['PATCH', inAccount, operator],
    ['POST', `${inAccount}/members`, operator],
    ['POST', `${inAccount}/playbooks`, operator],
    ['POST', `${inAccount}/marketing_sources`, operator],
    ['POST', `${inAccount}/conversions`, operator],
    ['POST', `${inAccount}/webhooks`, operator],
    ['POST', `${inAccount}/engagements/${next_engagement_id}/activities`, operator],
  ] as const
  const property = fc.asyncProperty(
    fc.constantFrom(...calls),
    fc.jsonValue(),
    async ([method, url, headers], value) => {
      const answer = await send(url, { method, headers, body: JSON.stringify(value) })
      assert.ok(isRefusal(answer.status), `${answer.status}: ${answer.text}`)
    },
  )
  await holdsAsync(t, property, { numRuns: 150, includeErrorInReport: true })
  await isWell(t)
})

test('any values in the known fields of the management API are accepted or refused', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id } = await account.submitted()
  const fields: Readonly<Record<string, ReadonlyArray<string>>> = {
    '/members': ['email', 'role'],
    '/playbooks': ['title', 'required_fields', 'steps', 'quiet_hours', 'give_up_after_minutes'],
    '/marketing_sources': ['title', 'playbook_id', 'originator_field'],
    '/conversions': ['title', 'value'],
    '/webhooks': ['url', 'token', 'events', 'format', 'playbook_id'],
    '/api_keys': ['limit_per_minute'],
    [`/engagements/${next_engagement_id}/activities`]: ['type', 'label', 'note', 'properties'],
  }
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      'event',
      'interested',
      'admin',
      'a@example.com',
      account.playbookId,
      'http://[::1',
      'http://a b',
      -0,
      1e308,
    ),
  )
  const call = fc.constantFrom(...Object.keys(fields)).chain((path) => {
    const names = fc.constantFrom(...(fields[path] ?? []))
    return fc.tuple(fc.constant(path), fc.dictionary(names, value))
  })
  const property = fc.asyncProperty(call, async ([path, body]) => {
    const answer = await account.manage('POST', path, body)
    assert.ok(answer.status === 201 || isRefusal(answer.status), `${answer.status}: ${answer.text}`)
  })
  await holdsAsync(t, property, { numRuns: 200, includeErrorInReport: true })
  await isWell(t)
})

test('JSON that is nested as deep as a body allows is accepted or refused, wherever it stands', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const deep = nested(45_000)
  const operator = { ...json, ...bearer(operatorKey) }
  const inAccount = `${site.url}/manage/v1/accounts/${account.id}`
  const key = { ...json, ...bearer(account.apiKey) }
  const bodies: ReadonlyArray<readonly [string, string, string, Sent['headers']]> = [
    ['the whole lead', account.postUrl, deep, json],
    ['open only', account.postUrl, '['.repeat(100_000), json],
    ['objects', account.postUrl, '{"a":'.repeat(18_000) + '1' + '}'.repeat(18_000), json],
    ['an extra field', account.postUrl, withExtra(`"x":${deep}`), json],
    ['a required field', account.postUrl, `{"first_name":${deep}}`, json],
    ['a record', `${site.url}/api/v3/conversions/${sold}/events`, `{"conversion_contact":${deep}}`, key],
    [
      'a contact id',
      `${site.url}/api/v3/conversions/${sold}/events`,
      `{"conversion_contact":{"contact_id":${deep}}}`,
      key,
    ],
    ['steps', `${inAccount}/playbooks`, `{"title":"Deep","steps":${deep}}`, operator],
    [
      'properties',
      `${inAccount}/engagements/${next_engagement_id}/activities`,
      `{"type":"event","label":"interested","properties":{"x":${deep}}}`,
      operator,
    ],
  ]
  for (const [what, url, body, headers] of bodies) {
    const { status, text } = await post(url, body, headers)
    t.true(status === 200 || status === 201 || isRefusal(status), `${what}: ${status} ${text}`)
  }
  t.is((await account.record(sold, { contact_id })).status, 201)
  await isWell(t)
})

test('NUL, lone surrogates and invalid UTF-8 in a field become U+FFFD and harm nobody', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const texts = ['a\\u0000b', '\\ud800', '\\udfff\\ud800', 'a\\u2028b', '\\u202eevil']
  for (const text of texts) {
    const body = JSON.stringify(lead({ phone })).replace('"Ada"', `"${text}"`)
    const answer = await post(account.postUrl, body)
    t.is(answer.status, 200, text)
    t.is(having(await account.find(phone), 'contact').first_name, asStored(JSON.parse(`"${text}"`) as string), text)
    t.is((await account.manage('GET', `/contacts/${idsOf(answer).contact_id}/timeline`)).status, 200, text)
  }
  const whole = Buffer.from(JSON.stringify(lead({ phone })))
  const broken = Buffer.concat([whole.subarray(0, 15), Buffer.from([0xff, 0xc3, 0xed, 0xa0, 0x80]), whole.subarray(15)])
  t.is((await post(account.postUrl, broken)).status, 200)
  t.is((await account.find(phone)).status, 200)
  t.is((await post(account.postUrl, 'first_name=%ff%00%ed%a0%80&phone=%', form)).status, 400)
  await isWell(t)
})

test('NUL and lone surrogates in a name, further in and in a form become U+FFFD', async (t) => {
  const account = await openAccount(site)
  const shown = async (answer: Answer) => {
    const { additional_info } = having(await account.rest(`/contacts/${idsOf(answer).contact_id}`), 'contact')
    return Object.entries(additional_info).filter(([name]) => name.includes('\ufffd') || name === 'more')
  }
  const json = await post(account.postUrl, withExtra(String.raw`"a\ud800":7,"more":{"b\u0000":["\udfff",1.50]}`))
  t.deepEqual(await shown(json), [
    ['a\ufffd', '7'],
    ['more', '{"b\ufffd":["\ufffd",1.5]}'],
  ])
  const fields = String(new URLSearchParams(formLead()))
  t.deepEqual(await shown(await post(account.postUrl, `${fields}&a%00=b%00`, form)), [['a\ufffd', 'b\ufffd']])
  t.deepEqual(await shown(await post(account.postUrl, `${fields}&more=c\0`, form)), [
    ['a\ufffd', 'b\ufffd'],
    ['more', 'c\ufffd'],
  ])
  const title = 'Ads \0\ud800'
  const made = await account.manage('POST', '/marketing_sources', { title, playbook_id: account.playbookId })
  t.is(having(made, 'marketing_source')['title'], asStored(title))
})

test('__proto__, constructor and prototype change nothing for anybody else', async (t) => {
  const account = await openAccount(site)
  const polluting = '{"polluted":"yes","opted_out":true,"isAdmin":1}'
  const bodies = [
    withExtra(`"__proto__":${polluting}`),
    withExtra(`"constructor":{"prototype":${polluting}}`),
    withExtra(`"prototype":${polluting},"hasOwnProperty":"x","toJSON":"y","then":"z","valueOf":"v"`),
    `{"__proto__":${JSON.stringify(lead())}}`,
  ]
  for (const body of bodies) assertSound(await post(account.postUrl, body))
  const encoded = new URLSearchParams(formLead()).toString()
  for (const more of [
    '__proto__[polluted]=yes',
    'constructor[prototype][polluted]=yes',
    '__proto__.polluted=yes',
    'toString=x',
  ]) {
    t.is((await post(account.postUrl, `${encoded}&${more}`, form)).status, 200, more)
  }
  t.is((await post(account.postUrl, `{"__proto__":${JSON.stringify(lead())}}`)).status, 400)
  const operator = { ...json, ...bearer(operatorKey) }
  const patch = await send(`${site.url}/manage/v1/accounts/${account.id}`, {
    method: 'PATCH',
    headers: operator,
    body: '{"__proto__":{"enabled":false}}',
  })
  t.is(patch.status, 400)
  const { contact_id } = await account.submitted()
  const contact = having(await account.rest(`/contacts/${contact_id}`), 'contact')
  t.false(contact.opted_out)
  t.false(JSON.stringify(contact).includes('polluted'))
  await isWell(t)
})

const rawPost = (account: Account, headers: string, body: string | Uint8Array, milliseconds?: number) => {
  const line = `POST ${new URL(account.postUrl).pathname} HTTP/1.1`
  const head = `${line}\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`
  return sendRaw(site.url, Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]), milliseconds)
}

test('a content length that is wrong is 400, or waits for the rest without keeping others waiting', async (t) => {
  const account = await openAccount(site)
  const body = JSON.stringify(lead())
  for (const length of ['10', '-1', 'abc', '1e3', '0x10', '1, 2', '']) {
    const answer = await rawPost(account, `Content-Length: ${length}`, body)
    t.true(isRefusal(answer.status), `${length}: ${answer.text}`)
    t.true(answer.ended, length)
  }
  const both = await rawPost(account, 'Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n')
  t.is(both.status, 400)
  const twice = await rawPost(account, `Content-Length: ${body.length}\r\nContent-Length: 5`, body)
  t.is(twice.status, 400)
  const waiting = rawPost(account, 'Content-Length: 100000', body, 1_500)
  await isWell(t)
  t.is((await waiting).status, undefined)
})

test('a compressed body is 415, whole or broken, and nothing of it is unfolded', async (t) => {
  const account = await openAccount(site)
  const whole = JSON.stringify(lead())
  const bodies: ReadonlyArray<readonly [string, Uint8Array]> = [
    ['gzip', gzipSync(whole)],
    ['gzip', gzipSync(whole).subarray(0, 60)],
    ['gzip', Buffer.from('this is not gzip')],
    ['gzip', gzipSync(whole.padEnd(20_000_000))],
    ['deflate', deflateSync(whole)],
    ['br', brotliCompressSync(whole)],
    ['zstd', Buffer.from(whole)],
    ['gzip, gzip', gzipSync(whole)],
    ['GZIP', gzipSync(whole)],
  ]
  for (const [encoding, body] of bodies) {
    const answer = await post(account.postUrl, body, { ...json, 'content-encoding': encoding })
    t.is(answer.status, 415, encoding)
  }
  t.is((await post(account.postUrl, whole, { ...json, 'content-encoding': 'identity' })).status, 200)
  await isWell(t)
})

// One at a time, so that nothing else is measured.

/** Ten times what a bare request takes here and now, and a second for whatever else the machine does. */
const isNotMuchLonger = (t: ExecutionContext, elapsed: number, bare: number): void => {
  t.true(elapsed < 10 * bare + 1_000, `${elapsed} ms, where a bare one takes ${bare} ms`)
}

test.serial('a long Content-Type keeps nobody waiting', async (t) => {
  const types = [' ', '\t', ';', ';a=b', ' ;', '=', '"', 'a'].map((text) => `application/json${text.repeat(3_700)}x=`)
  const spaces = `application/json${' '.repeat(15_000)}x`
  const { postUrl } = await openAccount(site)
  const long = [...types, ...Array.from({ length: 12 }, () => spaces)]
  const responseTime = async (sent: ReadonlyArray<string>): Promise<number> => {
    const begun = performance.now()
    for (const type of sent) t.is((await post(postUrl, '{}', { 'content-type': type })).status, 415)
    return performance.now() - begun
  }
  const bare = await responseTime(long.map(() => 'text/plain'))
  isNotMuchLonger(t, await responseTime(long), bare)
})

test.serial('numbers of as many digits as a body allows are read at once', async (t) => {
  const { postUrl } = await openAccount(site)
  const responseTime = async (more: string): Promise<number> => {
    const begun = performance.now()
    t.is((await post(postUrl, `{"more":${more}}`)).status, 400)
    return performance.now() - begun
  }
  const zeros = '0'.repeat(90_000)
  const bare = await responseTime(`"${zeros}"`)
  for (const more of [`[1${zeros}]`, `[1${zeros}1]`, `[0.${zeros}1]`, `[${'1.50,'.repeat(18_000)}1]`]) {
    isNotMuchLonger(t, await responseTime(more), bare)
  }
})

test.serial('a form that repeats one name as often as a body allows is answered at once', async (t) => {
  const { postUrl } = await openAccount(site)
  for (const pair of ['a&', 'a=1&', 'phone&']) {
    const responseTime = async (body: string): Promise<number> => {
      const begun = performance.now()
      t.is((await post(postUrl, body, form)).status, 400)
      return performance.now() - begun
    }
    const bare = await responseTime(`a=${'1'.repeat(19_998)}`)
    isNotMuchLonger(t, await responseTime(pair.repeat(Math.floor(20_000 / pair.length))), bare)
  }
})

test('a chunked body is read, a broken one is 400, a large one 413', async (t) => {
  const account = await openAccount(site)
  const chunked = (...chunks: ReadonlyArray<string>): string =>
    `${chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
  const body = JSON.stringify(lead())
  const headers = 'Transfer-Encoding: chunked\r\nConnection: close'
  t.is((await rawPost(account, headers, chunked(...body.split(/(?<=,)/)))).status, 200)
  for (const broken of ['ZZ\r\n{}\r\n0\r\n\r\n', '-1\r\n{}\r\n', '2\r\n{}{}\r\n0\r\n\r\n']) {
    t.is((await rawPost(account, headers, broken)).status, 400, broken)
  }
  t.is((await rawPost(account, headers, chunked(body, ' '.repeat(60_000), ' '.repeat(60_000)))).status, 413)
  t.true(isRefusal((await rawPost(account, 'Transfer-Encoding: gzip\r\nConnection: close', body)).status))
  await isWell(t)
})

/** Sends the parts one after the other, each in a packet of its own. */
const sendInParts = (url: string, parts: ReadonlyArray<string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = openRequest(url, { method: 'POST', headers: json }, (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode ?? 0)
      })
    })
    request.once('error', reject)
    const next = (index: number): void => {
      const part = parts[index]
      if (part === undefined) request.end()
      else request.write(part, () => setImmediate(next, index + 1))
    }
    next(0)
  })

test('a lead that comes bit by bit is accepted, while others are answered', async (t) => {
  const account = await openAccount(site)
  const slow = sendInParts(account.postUrl, JSON.stringify(lead()).split(/(?<=[ae])/))
  await isWell(t)
  t.is(await slow, 200)
})

test('half-sent requests keep nobody waiting, and are forgotten when their connection ends', async (t) => {
  const account = await openAccount(site)
  const { hostname, port, pathname } = new URL(account.postUrl)
  const body = JSON.stringify(lead())
  const headers = `Content-Type: application/json\r\nContent-Length: ${body.length}`
  const whole = `POST ${pathname} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`
  const halves = Array.from({ length: 60 }, (_, n) => whole.slice(0, Math.floor((whole.length * n) / 60)))
  const sockets = await Promise.all(
    halves.map(
      (half) =>
        new Promise<Socket>((resolve) => {
          const socket = connect(Number(port), hostname)
          socket.once('error', () => undefined)
          socket.write(half === '' ? 'P' : half, () => {
            resolve(socket)
          })
        }),
    ),
  )
  await isWell(t)
  for (const socket of sockets) socket.destroy()
  await isWell(t)
  const leads = having(await account.manage('GET', `/marketing_sources/${account.sourceId}/leads`), 'leads')
  t.deepEqual(leads, [])
})

test('a request that a client gives up is forgotten', async (t) => {
  const account = await openAccount(site)
  const given = Array.from(
    { length: 30 },
    () =>
      new Promise<void>((resolve) => {
        const request = openRequest(account.postUrl, { method: 'POST', headers: { ...json, 'content-length': '5000' } })
        request.once('error', () => {
          resolve()
        })
        request.write(JSON.stringify(lead()), () => request.destroy())
        request.once('close', resolve)
      }),
  )
  await Promise.all(given)
  await isWell(t)
})

test('whatever is sent in place of a request is answered with 4xx or a closed connection', async (t) => {
  const token = fc.constantFrom(
    'GET',
    'POST',
    ' ',
    '\r\n',
    'HTTP/1.1',
    '/',
    ':',
    'Host',
    '\0',
    '\u00ff',
    'Content-Length: 9',
  )
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }),
    fc.array(token, { minLength: 1, maxLength: 20 }).map((tokens) => Buffer.from(tokens.join(''), 'latin1')),
  )
  const property = fc.asyncProperty(bytes, async (sent) => {
    const end = Buffer.from('\r\n\r\n\r\n\r\n')
    const { status, text } = await sendRaw(site.url, Buffer.concat([sent, end]), 300)
    assert.ok(status === undefined || isSound(status), text)
  })
  await holdsAsync(t, property, { numRuns: 150, includeErrorInReport: true })
  await isWell(t)
})

/** A text as it stands in a URL; half a surrogate pair can't. */
const encoded = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))

const rawGet = (target: string, headers = '') =>
  sendRaw(site.url, Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`, 'latin1'))

test('every request target is answered with less than 500', async (t) => {
  const account = await openAccount(site)
  const key = `Authorization: Bearer ${account.apiKey}\r\n`
  const targets = [
    '/%',
    '/%E0%A4%A',
    '/%00',
    '//',
    '//example.com/x',
    '/..',
    '/../../etc/passwd',
    '*',
    '/?%E0%A4%A',
    '/#x',
    '/;a=b',
    '/api/v3/contacts/%',
    '/api/v3/contacts/%E0%A4%A',
    '/api/v3/contacts/%ff%fe',
    '/api/v3/contacts/%2F',
    '/api/v3//conversions',
    '/api/v3/contacts/find?phone=%',
    '/api/v3/contacts/find?phone=%00',
    '/api/v3/contacts/find?phone[]=1&phone[a]=2',
    '/marketing_sources/%/%',
    '/manage/v1/accounts/%E0%A4%A',
    `/api/v3/contacts/${'x'.repeat(10_000)}`,
    'http://',
    'http://[::1',
    'http://a:b:c/',
    'http://x:99999999/',
    'http:///health/live',
    'https://x/health/live',
    '/\\x',
    '/a|b',
    '/é',
  ]
  for (const target of targets) {
    const { status, text, ended } = await rawGet(target, key)
    t.true(isSound(status), `${target}: ${text}`)
    t.true(ended, target)
  }
  await isWell(t)
})

test('any path and query of any of the surfaces is answered with less than 500', async (t) => {
  const account = await openAccount(site)
  const prefixes = [
    '',
    '/api/v3',
    '/api/v3/contacts',
    '/api/v3/conversions',
    '/marketing_sources',
    '/health',
    '/metrics',
  ]
  const inAccount = `/manage/v1/accounts/${account.id}`
  const managed = ['', '/contacts', '/webhooks', '/marketing_sources', '/playbooks', '/engagements'].map(
    (path) => inAccount + path,
  )
  const segment = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 20 }).map((text) => encoded(text)),
    fc.constantFrom(
      '%',
      '%zz',
      '%E0%A4%A',
      '..',
      '.',
      'find',
      account.sourceId,
      'timeline',
      'leads',
      'deliveries',
      'events',
    ),
  )
  const query = fc.webQueryParameters()
  const target = fc.tuple(fc.constantFrom(...prefixes, ...managed), fc.array(segment, { maxLength: 4 }), query)
  const method = fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE')
  const property = fc.asyncProperty(method, target, async (verb, [prefix, segments, search]) => {
    const path = [prefix, ...segments].join('/')
    const key = path.startsWith('/api') ? account.apiKey : operatorKey
    const answer = await send(`${site.url}${path.startsWith('/') ? path : `/${path}`}?${search}`, {
      method: verb,
      headers: bearer(key),
    })
    assert.ok(answer.status < 500, `${answer.status}: ${answer.text}`)
  })
  await holdsAsync(t, property, { numRuns: 200, includeErrorInReport: true })
  await isWell(t)
})

test('any text as a phone number is found, not found or no number', async (t) => {
  const account = await openAccount(site)
  const text = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom('+', '-', '(', ')', ' ', '.', '0', '1', '4', '5', '9', ';ext=', 'tel:', 'x', '#', '*'),
      maxLength: 300,
    }),
  )
  const property = fc.asyncProperty(text, async (phone) => {
    const { status } = await account.rest(`/contacts/find?phone=${encoded(phone)}`)
    assert.ok([400, 404].includes(status), `${status}`)
  })
  await holdsAsync(t, property, { numRuns: 150, includeErrorInReport: true })
})

test('unknown methods are refused on every surface', async (t) => {
  const account = await openAccount(site)
  const paths = [
    '/',
    '/health/live',
    '/metrics',
    '/api/v3/conversions',
    new URL(account.postUrl).pathname,
    '/manage/v1/accounts',
  ]
  for (const path of paths) {
    for (const method of ['PUT', 'TRACE', 'OPTIONS', 'PROPFIND', 'QUERY', 'LINK']) {
      const answer = await send(site.url + path, { method, headers: bearer(operatorKey) })
      t.true([403, 404, 405].includes(answer.status), `${method} ${path}: ${answer.status}`)
    }
    const made = await sendRaw(site.url, `BREW ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    t.is(made.status, 400)
    await sendRaw(site.url, `CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n`, 500)
  }
  await isWell(t)
})

test('headers that are huge, many or strange are refused or ignored', async (t) => {
  t.is((await rawGet('/health/live', `X: ${'y'.repeat(40_000)}\r\n`)).status, 431)
  t.true(isSound((await rawGet('/health/live', 'a: b\r\n'.repeat(3_000))).status))
  for (const header of [
    'Expect: banana',
    'Upgrade: websocket\r\nConnection: Upgrade',
    'X: \u00ff\u00fe',
    'Cookie: a=\x01',
  ]) {
    t.true(isSound((await rawGet('/health/live', `${header}\r\n`)).status), header)
  }
  t.is((await sendRaw(site.url, 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n')).status, 400)
  t.true(isSound((await sendRaw(site.url, 'GET /health/live HTTP/1.0\r\n\r\n')).status))
  await isWell(t)
})

test('a number is taken as the text that was sent, also where JavaScript can not hold it', async (t) => {
  const { postUrl } = await openAccount(site)
  const fields = JSON.stringify(lead())
  const sent = (externalId: string) =>
    post(postUrl, Buffer.from(fields.replace(/}$/, `,"external_id": ${externalId}, "miles": [1.50, 7]}`)))
  const [one, other] = [await sent('9007199254740992'), await sent('9007199254740993')]
  t.deepEqual([one.status, other.status], [200, 200])
  t.not(idsOf(one).lead_id, idsOf(other).lead_id)
})

test('a number is no text outside of a lead, however many digits it has', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const manage = `${site.url}/manage/v1/accounts/${account.id}`
  const ofOperator = { ...json, ...bearer(operatorKey) }
  const calls = [
    [`${site.url}/api/v3/conversions/${sold}/events`, bearer(account.apiKey), 'conversion_contact.contact_id'],
    [`${manage}/engagements/${next_engagement_id}/messages`, ofOperator, 'text'],
    [`${manage}/contacts/${contact_id}/messages`, ofOperator, 'text'],
    [`${manage}/conversions`, ofOperator, 'title'],
  ] as const
  for (const [url, headers, name] of calls) {
    for (const number of ['7', '1846523456789012345']) {
      const [field = '', within] = name.split('.')
      const value = within === undefined ? number : `{"${within}":${number}}`
      const body = `{${name === 'title' ? '"value":1,' : ''}"${field}":${value}}`
      const answer = await post(url, body, { ...json, ...headers })
      t.deepEqual([answer.status, namedIn(answer)], [400, [name]], `${url} ${body}: ${answer.text}`)
    }
  }
})
