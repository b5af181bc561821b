import test from 'ava'
import { send, sendJson, type Answer, bearer } from '../kit/network/http.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { openAccount } from '../kit/service/account.js'
import { operatorKey } from '../kit/service/settings.js'

const site = serviceForFile()

const listed = (key: string): Promise<Answer> => send(`${site.url}/api/v3/conversions`, { headers: bearer(key) })

test('a missing or wrong API key is 403 with an errors list on every endpoint (contract 5.1 and 7)', async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const key = account.apiKey
  const [accountId = '', keyId = '', secret = ''] = key.split('.')
  const [otherId = '', , otherSecret = ''] = other.apiKey.split('.')
  const wrong: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
    ['no header', {}],
    ['empty', { authorization: '' }],
    ['no token', { authorization: 'Bearer' }],
    ['blank token', { authorization: 'Bearer    ' }],
    ['no scheme', { authorization: key }],
    ['Basic', { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }],
    ['another scheme', { authorization: `Token ${key}` }],
    ['two tokens', bearer(`${key} ${key}`)],
    ['another header', { 'x-api-key': key }],
    ['cut off', bearer(key.slice(0, -1))],
    ['longer', bearer(`${key}A`)],
    ['another part', bearer(`${key}.x`)],
    ['parts only', bearer(`${accountId}.${keyId}`)],
    ['no secret', bearer(`${accountId}.${keyId}.`)],
    ['another secret', bearer(`${accountId}.${keyId}.${otherSecret}`)],
    ['another account', bearer(`${otherId}.${keyId}.${secret}`)],
    ['an unknown account', bearer(`acc_${'0'.repeat(26)}.${keyId}.${secret}`)],
    ['an unknown key', bearer(`${accountId}.key_${'0'.repeat(26)}.${secret}`)],
    ['another case', bearer(key.toLowerCase())],
    ['the secret alone', bearer(secret)],
    ['the operator key', bearer(operatorKey)],
    ['not text', bearer('\u00e9'.repeat(40))],
    ['dots', bearer('...')],
    ['very long', bearer('A'.repeat(8_000))],
  ]
  const endpoints = [
    ['GET', '/contacts/find?phone=4155550123'],
    ['GET', `/contacts/${contact_id}`],
    ['GET', '/conversions'],
    ['POST', `/conversions/${sold}/events`],
  ] as const
  for (const [what, headers] of wrong) {
    for (const [method, path] of endpoints) {
      const body = method === 'POST' ? JSON.stringify({ conversion_contact: { contact_id } }) : undefined
      const answer = await send(`${site.url}/api/v3${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      })
      t.is(answer.status, 403, `${what}: ${method} ${path}`)
      t.deepEqual(answer.body, { errors: ['the API key is missing or wrong'] }, `${what}: ${method} ${path}`)
    }
  }
  t.is((await account.record(sold, { contact_id })).status, 201)
})

test('a key in the query or the body opens nothing', async (t) => {
  const account = await openAccount(site)
  t.is(
    (await send(`${site.url}/api/v3/conversions?api_key=${account.apiKey}&access_token=${account.apiKey}`)).status,
    403,
  )
  const { sold } = await account.standardConversions()
  t.is(
    (await sendJson(`${site.url}/api/v3/conversions/${sold}/events`, 'POST', { api_key: account.apiKey })).status,
    403,
  )
})

test('the scheme is read in any case', async (t) => {
  const { apiKey } = await openAccount(site)
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const answer = await send(`${site.url}/api/v3/conversions`, { headers: { authorization: `${scheme} ${apiKey}` } })
    t.is(answer.status, 200, scheme)
  }
})

test('an account may have several keys, and a revoked one is 403 from the next request on', async (t) => {
  const account = await openAccount(site)
  const [one, other] = [await account.issueKey(), await account.issueKey()]
  t.not(one.secret, other.secret)
  for (const key of [account.apiKey, one.secret, other.secret]) t.is((await listed(key)).status, 200)
  t.is((await account.manage('DELETE', `/api_keys/${one.id}`)).status, 200)
  t.is((await listed(one.secret)).status, 403)
  t.is((await listed(other.secret)).status, 200)
  t.is((await listed(account.apiKey)).status, 200)
  t.is((await account.manage('DELETE', `/api_keys/${one.id}`)).status, 404)
})

test('a key of an account that is not enabled is 403, and good again when it is (contract 5.2)', async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  t.is((await account.manage('PATCH', '', { enabled: false })).status, 200)
  const refused = await account.rest('/conversions')
  t.is(refused.status, 403)
  t.is(refused.body.errors?.length, 1)
  t.is((await other.rest('/conversions')).status, 200)
  t.is((await account.manage('PATCH', '', { enabled: true })).status, 200)
  t.is((await account.rest('/conversions')).status, 200)
})
