import { lead, newPhone, spellings } from '../../kit/service/leads.js'
import { bearer, having } from '../../kit/network/http.js'
import { idsOf, manage, openAccount, type Account } from '../../kit/service/account.js'
import { operatorKey } from '../../kit/service/settings.js'
import { nobody } from '../../kit/domain/samples.js'
import { json } from '../../kit/network/http.js'
import { callsOf, form, inWords, raw, type Calls, type Stage } from './stage.js'

const find = (phone: string): string => `/contacts/find?phone=${encodeURIComponent(phone)}`

const playContacts = async (calls: Calls, phone: string, contactId: string, other: Account): Promise<void> => {
  const theirPhone = newPhone()
  const theirs = await other.submitted({ phone: theirPhone })
  const paths = [
    ...spellings(phone).map((spelling) => [`find ${inWords(spelling)}`, find(spelling)] as const),
    ['find, with a plus that is a blank', `/contacts/find?phone=${phone}`],
    ['find, with other parameters', `${find(phone)}&phones=1&x=y`],
    ['find, without a phone', '/contacts/find'],
    ['find, a blank phone', '/contacts/find?phone=%20'],
    ['find, two phones', `${find(phone)}&phone=1`],
    ['find, an object of phones', `/contacts/find?phone[a]=${phone}`],
    ['find, no number', find('abc')],
    ['find, too short', find('12')],
    ['find, an unknown country', find('+999 123')],
    ['find, bytes that are no text', '/contacts/find?phone=%00%ff'],
    ['find, a number that nobody has', find(newPhone())],
    ['find, a number of another account', find(theirPhone)],
    ['find, with a slash at its end', `/contacts/find/?phone=${encodeURIComponent(phone)}`],
    ['a contact', `/contacts/${contactId}`],
    ['a contact, with a query', `/contacts/${contactId}?x=y`],
    ['a contact that is unknown', `/contacts/${nobody('nct')}`],
    ['a contact of another account', `/contacts/${theirs.contact_id}`],
    ['a contact with an id of another kind', `/contacts/${nobody('led')}`],
    ['a contact with an id in small letters', `/contacts/${contactId.toLowerCase()}`],
    ['a contact with an id that is no text', '/contacts/%00'],
    ['a contact with an id that is malformed', '/contacts/%E0%A4%A'],
  ] as const
  for (const [name, path] of paths) await calls.rest(name, path)
}

/** Bodies of a record that are refused before anything is looked up. */
const wrongRecords = (contact_id: string): ReadonlyArray<readonly [name: string, body: string]> => [
  ['a negative value', `{"conversion_contact":{"contact_id":"${contact_id}","custom_value":-1}}`],
  ['a very negative value', `{"conversion_contact":{"contact_id":"${contact_id}","custom_value":-1e300}}`],
  ['half a cent', `{"conversion_contact":{"contact_id":"${contact_id}","custom_value":1.5}}`],
  ['a value as text', `{"conversion_contact":{"contact_id":"${contact_id}","custom_value":"5"}}`],
  [
    'a value that is too large',
    `{"conversion_contact":{"contact_id":"${contact_id}","custom_value":9007199254740992}}`,
  ],
  ['a value without an end', `{"conversion_contact":{"contact_id":"${contact_id}","custom_value":1e400}}`],
  ['open as text', `{"conversion_contact":{"contact_id":"${contact_id}","keep_conversations_open":"yes"}}`],
  ['a time that is none', `{"conversion_contact":{"contact_id":"${contact_id}","converted_at":"yesterday"}}`],
  ['a day that is none', `{"conversion_contact":{"contact_id":"${contact_id}","converted_at":"2024-02-30"}}`],
  ['a time as a number', `{"conversion_contact":{"contact_id":"${contact_id}","converted_at":1700000000}}`],
  [
    'everything wrong',
    '{"conversion_contact":{"contact_id":5,"converted_at":5,"custom_value":"5","keep_conversations_open":5}}',
  ],
  ['no contact', '{"conversion_contact":{}}'],
  ['null for a contact', '{"conversion_contact":{"contact_id":null}}'],
  ['a blank contact', '{"conversion_contact":{"contact_id":" "}}'],
  ['a list for a record', '{"conversion_contact":[]}'],
  ['null for a record', '{"conversion_contact":null}'],
  ['no record', '{}'],
  ['null', 'null'],
  ['a list', '[]'],
  ['a number', '1'],
  ['invalid JSON', '{"conversion_contact":'],
  ['nested too deep', `{"conversion_contact":${'['.repeat(200)}${']'.repeat(200)}}`],
  ['too large', '{}'.padEnd(102_401)],
]

const playWrongRecords = async (stage: Stage, account: Account, sold: string, contactId: string): Promise<void> => {
  const { ask } = stage.recorder
  const url = `${stage.main.url}/api/v3/conversions/${sold}/events`
  const key = bearer(account.apiKey)
  for (const [name, body] of wrongRecords(contactId)) await ask(`record: ${name}`, url, raw(body, key))
  await ask('record: a form', url, form(`contact_id=${contactId}`, key))
  await ask('record: no content type', url, { method: 'POST', headers: key, body: '{}' })
  await ask('record: no body', url, { method: 'POST', headers: key })
  await ask('record: compressed', url, raw('{}', { ...key, 'content-encoding': 'gzip' }))
}

const playRecords = async (calls: Calls, account: Account, other: Account, contact_id: string): Promise<void> => {
  const { quoted, sold } = await account.standardConversions()
  const theirs = await other.submitted()
  const theirSold = (await other.standardConversions()).sold
  const converted_at = '2024-01-15T12:30:00.000Z'
  await calls.record('the first record', quoted, {
    contact_id,
    converted_at,
    custom_value: 120_000,
    keep_conversations_open: true,
  })
  await calls.record('the same record again', quoted, { contact_id, converted_at, custom_value: 120_000 })
  await calls.record('another value for the same record', quoted, { contact_id, custom_value: 1 })
  await calls.record('the same record with a wrong value', quoted, { contact_id, custom_value: -1 })
  await calls.record('without a time and a value', sold, { contact_id, more: 'is passed over' })
  await calls.record('an unknown contact', sold, { contact_id: nobody('nct') })
  await calls.record('a contact that is none', sold, { contact_id: 'x' })
  await calls.record('a contact of another account', sold, { contact_id: theirs.contact_id })
  await calls.record('an unknown conversion', nobody('cnv'), { contact_id })
  await calls.record('a conversion that is none', 'x', { contact_id })
  await calls.record('a conversion of another account', theirSold, { contact_id })
  await calls.record('an unknown conversion and contact', nobody('cnv'), {
    contact_id: nobody('nct'),
    custom_value: -1,
  })
  await calls.record('an unknown contact and a negative value', sold, { contact_id: nobody('nct'), custom_value: -1 })
  const nulls = { converted_at: null, custom_value: null, keep_conversations_open: null }
  const rows = [
    ['null for what may be left out', nulls],
    ['a time with an offset', { converted_at: '2024-01-15T12:30:00+05:30' }],
    ['a time with a short offset', { converted_at: '2024-01-15T22:30:00-05' }],
    ['a time without an offset', { converted_at: ' 2024-01-15 12:30 ' }],
    ['a day', { converted_at: '2024-02-29' }],
    ['a value of nothing', { custom_value: 0 }],
    ['the largest value', { custom_value: Number.MAX_SAFE_INTEGER }],
  ] as const
  for (const [name, fields] of rows) {
    await calls.record(name, await account.addConversion(`For ${name}`, 4_200), { contact_id, ...fields })
  }
  await calls.rest('conversions with those of the account', '/conversions')
}

/** Who may not call, and where there is nothing to be called. */
const playKeys = async (stage: Stage, account: Account, other: Account): Promise<void> => {
  const { main, recorder } = stage
  const url = `${main.url}/api/v3/conversions`
  const issued = await account.manage('POST', '/api_keys', {})
  const keys = [
    ['no key', {}],
    ['an empty key', { authorization: 'Bearer' }],
    ['a key without its kind', { authorization: account.apiKey }],
    ['a key of another kind', { authorization: `Basic ${account.apiKey}` }],
    ['the kind in small letters', { authorization: `bearer ${account.apiKey}` }],
    ['a key that is cut off', bearer(account.apiKey.slice(0, -1))],
    ['a key that is too long', bearer(`${account.apiKey}.x`)],
    ['a key with the id of another account', bearer(account.apiKey.replace(account.id, other.id))],
    ['a key of an unknown account', bearer(account.apiKey.replace(account.id, nobody('acc')))],
    ['the operator key', bearer(operatorKey)],
    ['a second key', bearer(having(issued, 'secret'))],
  ] as const
  for (const [name, headers] of keys) await recorder.ask(`rest: ${name}`, url, { headers })
  const { id } = having(issued, 'api_key') as { readonly id: string }
  await account.manage('DELETE', `/api_keys/${id}`)
  await recorder.ask('rest: a revoked key', url, { headers: bearer(having(issued, 'secret')) })
  await account.manage('PATCH', '', { enabled: false })
  for (const path of ['/conversions', `/contacts/${nobody('nct')}`, find(newPhone())]) {
    await recorder.ask(`rest: a disabled account at ${path}`, `${main.url}/api/v3${path}`, {
      headers: bearer(account.apiKey),
    })
  }
  const unread = json({}, bearer(account.apiKey))
  await recorder.ask('rest: a record of a disabled account', `${url}/${nobody('cnv')}/events`, unread)
  await account.manage('PATCH', '', { enabled: true })
  await recorder.ask('rest: an enabled account', url, { headers: bearer(account.apiKey) })
}

const playPaths = async ({ main, recorder }: Stage, { apiKey }: Account): Promise<void> => {
  const targets = [
    ['POST', '/api/v3/contacts/find'],
    ['PUT', `/api/v3/contacts/${nobody('nct')}`],
    ['DELETE', '/api/v3/conversions'],
    ['OPTIONS', '/api/v3/conversions'],
    ['HEAD', '/api/v3/conversions'],
    ['GET', `/api/v3/conversions/${nobody('cnv')}/events`],
    ['GET', '/api/v3/conversions/'],
    ['GET', '/api/v3/Conversions'],
    ['GET', '/api/v3'],
    ['GET', '/api/v3/contacts'],
    ['GET', '/api/v3/agents'],
    ['POST', '/api/v3/nothing'],
    ['GET', '/api/v2/conversions'],
    ['GET', '/api/v3//conversions'],
    ['GET', '/conversions'],
  ] as const
  for (const [method, path] of targets) {
    await recorder.ask(`rest: ${method} ${path}`, main.url + path, { method, headers: bearer(apiKey) })
  }
  await recorder.ask('rest: a wrong method without a key', `${main.url}/api/v3/conversions`, { method: 'PUT' })
}

/** The REST API for the customer's own systems. */
export const playRest = async (stage: Stage): Promise<void> => {
  const { main, recorder } = stage
  const [account, other] = [await openAccount(main, 'Agency of Sales'), await openAccount(main, 'Other Agency')]
  const calls = callsOf(recorder, main, account, 'rest')
  const phone = newPhone()
  await calls.rest('conversions of a new account', '/conversions')
  const { contact_id } = idsOf(await calls.submit('a lead', lead({ phone, external_id: 'A-1001' })))
  await playContacts(calls, phone, contact_id, other)
  await playRecords(callsOf(recorder, main, account, 'record'), account, other, contact_id)
  const { sold } = await account.standardConversions()
  await playWrongRecords(stage, account, sold, contact_id)
  await playKeys(stage, account, other)
  await playPaths(stage, account)
  await manage(main, 'PATCH', `/accounts/${other.id}`, { enabled: false })
  await recorder.ask('rest: another account that is disabled', `${main.url}/api/v3/conversions`, {
    headers: bearer(other.apiKey),
  })
}
