import { gzipSync } from 'node:zlib'
import {
  formLead,
  lead,
  nested,
  newPhone,
  requiredFields,
  spellings,
  withExtra,
  without,
  type Fields,
} from '../../kit/service/leads.js'
import { having } from '../../kit/network/http.js'
import { idsOf, openAccount } from '../../kit/service/account.js'
import { nobody } from '../../kit/domain/samples.js'
import { json } from '../../kit/network/http.js'
import { callsOf, form, inWords, long, raw, type Calls, type Stage } from './stage.js'

type Row = readonly [name: string, changed: Fields]

const extras = (count: number): Fields =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`extra_${n}`, 'x']))

/** What may be said of a lead in other words; each is taken. */
const taken: ReadonlyArray<Row> = [
  ['numbers and booleans as text', { first_name: 7, credit_rating: true, score: 0.5, big: 1e21, zero: 0, no: false }],
  [
    'extra fields, objects and lists',
    { 'Utm Source': 'ü', home: { rooms: 3 }, cars: [{ year: 2020 }, null], '1': 'one' },
  ],
  ['extra fields that are null or blank', { none: null, blank: ' ', empty: '', spaced: '  kept  ' }],
  ['names that stand on prototypes', { constructor: 'x', toString: 'y', hasOwnProperty: 'z' }],
  ['a state in small letters', { current_residence_state: 'ny' }],
  ['white space around values', { first_name: '  Zoë ', email: ' zoe@example.com ' }],
  ['a phone number of another country', { phone: '+44 20 7946 0958' }],
]

/** Each is refused, and nothing else is wrong with it. */
const malformed: ReadonlyArray<readonly [field: string, values: ReadonlyArray<unknown>]> = [
  ['email', ['nobody', '@example.com', 'ada @example.com', 'a@b@c', 12]],
  ['phone', ['12', 'abc', '555-0123', '+999 123', long(40), false]],
  ['date_of_birth', ['10/12/1985', '1985-02-30', '3000-01-01', '1985-12-10T00:00:00Z', 19851210]],
  ['current_residence_state', ['California', 'ZZ', 1]],
  ['tcpa_opt_in_url', ['consent', 'ftp://consent.example/1', 'javascript:alert(1)', 5]],
  ['first_name', ['', '  ', null, {}, [], ['Ada'], { value: 'Ada' }, long(10_001)]],
  ['tcpa_opt_in_token', ['', null, ['consent-1']]],
]

const refused: ReadonlyArray<readonly [name: string, fields: () => unknown]> = [
  ['no fields', () => ({})],
  ['null', () => null],
  ['a list', () => [lead()]],
  ['a text', () => 'lead'],
  ['a number', () => 1],
  ['too many fields', () => lead(extras(501))],
  ['an extra field that is too long', () => lead({ note: long(10_001) })],
  ['a name that is not shown', () => lead({ [`Ada's <b>`]: long(10_001) })],
  ['an extra list that is too long', () => lead({ history: Array.from({ length: 3_000 }, () => 'abc') })],
  [
    'many problems at once',
    () => ({ ...without(lead(), 'gender', 'credit_rating'), email: 'x', phone: '1', marital_status: ['Single'] }),
  ],
]

const playTaken = async ({ submit, rest }: Calls): Promise<void> => {
  for (const [name, changed] of taken) {
    const answer = await submit(name, lead(changed))
    await rest(`${name}, as the contact shows it`, `/contacts/${idsOf(answer).contact_id}`)
  }
  await submit('as many fields as there may be', lead(extras(500 - Object.keys(lead()).length)))
  const phone = newPhone()
  for (const [index, spelling] of spellings(phone).entries()) {
    const changed = { phone: spelling, first_name: `Ada ${index}`, [`colour_${index}`]: 'green' }
    await submit(`one number as ${inWords(spelling)}`, lead(changed))
  }
  await rest('a contact that came again and again', `/contacts/find?phone=${encodeURIComponent(phone)}`)
}

const playRefused = async ({ submit }: Calls, ask: Stage['recorder']['ask'], postUrl: string): Promise<void> => {
  for (const name of requiredFields) await submit(`without ${name}`, without(lead(), name))
  for (const [field, values] of malformed) {
    for (const value of values) await submit(`${field} is ${inWords(value)}`, lead({ [field]: value }))
  }
  for (const [name, fields] of refused) await ask(`intake: ${name}`, postUrl, json(fields()))
}

/** Content types, encodings and sizes: what keeps a body from being read, or nearly so. */
const playBodies = async (ask: Stage['recorder']['ask'], postUrl: string): Promise<void> => {
  const whole = (): string => JSON.stringify(lead())
  const encoded = new URLSearchParams(formLead()).toString()
  const rows = [
    ['a form', form(new URLSearchParams(formLead({ first_name: 'Zoë & Søn', note: 'a=b;c%20d\n"e"' })).toString())],
    ['a form with a field twice', form(`${encoded}&pet=cat&pet=dog&pet=`)],
    ['a form with a required field twice', form(`${encoded}&phone=4155550123`)],
    ['a form with names like paths', form(`${encoded}&a[b]=1&a.b=2&__proto__=x`)],
    ['an empty form', form('')],
    ['a form that is too large', form(`${encoded}&note=${long(102_400)}`)],
    [
      'a form with too many fields',
      form(`${encoded}&${new URLSearchParams(extras(501) as Record<string, string>).toString()}`),
    ],
    ['JSON with a charset', raw(whole(), { 'content-type': 'Application/JSON; charset="UTF-8"' })],
    ['JSON with half a parameter', raw(whole(), { 'content-type': 'application/json; charset' })],
    ['plain text', raw(whole(), { 'content-type': 'text/plain' })],
    ['many parts', raw(whole(), { 'content-type': 'multipart/form-data; boundary=x' })],
    ['another kind of JSON', raw(whole(), { 'content-type': 'application/vnd.api+json' })],
    ['an empty content type', raw(whole(), { 'content-type': '' })],
    ['no content type', { method: 'POST', body: whole() }],
    ['no body', { method: 'POST' }],
    ['no body, and JSON', { method: 'POST', headers: { 'content-type': 'application/json' } }],
    [
      'compressed',
      {
        ...raw(''),
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: gzipSync(whole()),
      },
    ],
    ['not compressed, and so it says', raw(whole(), { 'content-encoding': 'identity' })],
    ['JSON that is cut off', raw(whole().slice(0, -1))],
    ['JSON with a comma too many', raw('{"a":1,}')],
    ['JSON that is a form', raw(encoded)],
    ['as large as it may be', raw(whole().padEnd(102_400))],
    ['too large', raw(whole().padEnd(102_401))],
    ['nested as deep as it may be', raw(withExtra(`"deep":${nested(99)}`))],
    ['nested too deep', raw(withExtra(`"deep":${nested(101)}`))],
    ['nested as deep as a body allows', raw(nested(45_000))],
    ['the prototype as a field', raw(withExtra('"__proto__":{"polluted":"yes"}'))],
  ] as const
  for (const [name, sent] of rows) await ask(`intake: ${name}`, postUrl, sent)
}

const playRepeats = async ({ submit }: Calls): Promise<void> => {
  const fields = lead()
  const key = { 'idempotency-key': 'key-1' }
  await submit('with an Idempotency-Key', fields, key)
  await submit('the same Idempotency-Key again', fields, key)
  await submit('the same Idempotency-Key with other fields', lead(), key)
  await submit('another Idempotency-Key', fields, { 'idempotency-key': 'key-2' })
  await submit('an Idempotency-Key with what is wrong', {}, { 'idempotency-key': 'key-3' })
  await submit('an Idempotency-Key that is empty', fields, { 'idempotency-key': '' })
  await submit('an Idempotency-Key that is too long', fields, { 'idempotency-key': long(256) })
  const originated = lead({ external_id: 'E-1' })
  await submit('with an id of the vendor', originated)
  await submit('the same id of the vendor again', { ...originated, first_name: 'Augusta' })
  await submit('the same id of the vendor with another number', lead({ external_id: 'E-1' }))
  await submit('the other name of the id goes before', lead({ lead_id: 'L-1', external_id: 'E-1' }))
  await submit('an id of the vendor that is a number', lead({ lead_id: 77 }))
  await submit('an id of the vendor that is blank', lead({ lead_id: ' ', external_id: 'E-2' }))
}

/** Where a post URL leads, and who may still use it. */
const playSources = async (stage: Stage): Promise<void> => {
  const { main, recorder } = stage
  const account = await openAccount(main, 'Agency of Sources')
  const other = await openAccount(main, 'Other Agency')
  const calls = callsOf(recorder, main, account, 'intake')
  const base = `${main.url}/marketing_sources`
  const paths = [
    ['another account', `/${other.id}/${account.sourceId}`],
    ['an unknown source', `/${account.id}/${nobody('mks')}`],
    ['an unknown account', `/${nobody('acc')}/${account.sourceId}`],
    ['ids in small letters', `/${account.id}/${account.sourceId.toLowerCase()}`],
    ['no ids at all', '/a/b'],
    ['bytes that are no text', '/%00/%ff'],
    ['an account alone', `/${account.id}`],
    ['a path below', `/${account.id}/${account.sourceId}/leads`],
  ] as const
  for (const [name, path] of paths) await recorder.ask(`intake: a post URL with ${name}`, base + path, json(lead()))
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    await recorder.ask(`intake: the method ${method}`, account.postUrl, { method })
  }
  await calls.submit('a key that nobody asks for', lead(), { authorization: 'Bearer nonsense' })
  const path = `/marketing_sources/${account.sourceId}`
  await calls.manage('the source is suspended', 'PATCH', path, { suspended: true })
  await calls.submit('a suspended source', lead())
  await calls.submit('a suspended source and what is wrong', {})
  await calls.manage('the source is resumed', 'PATCH', path, { suspended: false })
  await calls.submit('a resumed source', lead())
  await calls.manage('the account is disabled', 'PATCH', '', { enabled: false })
  await calls.submit('a disabled account', lead())
  await calls.manage('the account is enabled', 'PATCH', '', { enabled: true })
  await calls.submit('an enabled account', lead())
}

/** Playbooks name the fields that are required, and sources the field of the vendor's own id. */
const playPlaybooks = async ({ main, recorder }: Stage): Promise<void> => {
  const account = await openAccount(main, 'Agency of Boats')
  const { manage } = callsOf(recorder, main, account, 'intake')
  const asked = { title: 'Boats', required_fields: ['first_name', 'boat_length', 'email'] }
  const playbook = having(await manage('a playbook with fields of its own', 'POST', '/playbooks', asked), 'playbook')
  const { id, postUrl } = await account.addSource({ playbook_id: playbook.id, originator_field: 'ref no' })
  const least = { phone: newPhone(), tcpa_opt_in_token: 'c', tcpa_opt_in_url: 'https://consent.example/2' }
  const rows: ReadonlyArray<Row> = [
    ['the fields of another playbook', { ...least, email: 'no' }],
    [
      'no more than a playbook asks for',
      { ...least, first_name: 'Grace', boat_length: 31, email: 'grace@example.com' },
    ],
    ['the field of the id that a source names', lead({ boat_length: 9, 'ref no': 'R-1', lead_id: 'L-1' })],
    ['without the field of the id that a source names', lead({ boat_length: 9, lead_id: 'L-1' })],
  ]
  for (const [name, fields] of rows) await recorder.ask(`intake: ${name}`, postUrl, json(fields))
  await manage('the leads of that source', 'GET', `/marketing_sources/${id}/leads`)
}

/** The post URL of a marketing source: what is taken, what is refused, and in which words. */
export const playIntake = async (stage: Stage): Promise<void> => {
  const { main, recorder } = stage
  const account = await openAccount(main, 'Agency of Leads')
  const calls = callsOf(recorder, main, account, 'intake')
  await playTaken(calls)
  await playRefused(calls, recorder.ask, account.postUrl)
  await playBodies(recorder.ask, account.postUrl)
  await playRepeats(calls)
  await playSources(stage)
  await playPlaybooks(stage)
}
