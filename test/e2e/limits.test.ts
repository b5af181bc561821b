import test from 'ava'
import { bearer, having, send, sendJson, type Answer } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { lead } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'

/** Its minutes are long, so that no test meets the end of one. */
const site = serviceForFile({ clockRate: 0.001 })

/** A request with an API key. */
const listed = (key: string): Promise<Answer> => send(`${site.url}/api/v3/conversions`, { headers: bearer(key) })

test('past the limit of a source 429 says when to come again; other sources go on', async (t) => {
  const account = await openAccount(site)
  const other = await account.addSource()
  const path = `/marketing_sources/${account.sourceId}`
  t.is((await account.manage('PATCH', path, { limit_per_minute: 2 })).status, 200)
  const answers = []
  for (let n = 0; n < 4; n += 1) answers.push(await account.submit(lead()))
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 429, 429],
  )
  const last = answers.at(-1)
  t.is(last?.body.errors?.length, 1)
  const wait = Number(last?.headers['retry-after'])
  t.true(Number.isInteger(wait) && wait >= 1 && wait <= 60, last?.headers['retry-after'])
  t.is((await sendJson(other.postUrl, 'POST', lead())).status, 200)
  t.is(having(await account.manage('GET', `${path}/leads`), 'leads').length, 2)
  await account.manage('PATCH', path, { limit_per_minute: null })
  t.is((await account.submit(lead())).status, 200)
})

test('past the limit of a key 429 says when to come again, and other keys are not concerned', async (t) => {
  const account = await openAccount(site)
  const limited = await account.issueKey({ limit_per_minute: 3 })
  const answers = []
  for (let n = 0; n < 5; n += 1) answers.push(await listed(limited.secret))
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 429, 429],
  )
  const last = answers.at(-1)
  t.is(last?.body.errors?.length, 1)
  const wait = Number(last?.headers['retry-after'])
  t.true(Number.isInteger(wait) && wait >= 1 && wait <= 60, last?.headers['retry-after'])
  t.is((await listed(account.apiKey)).status, 200)
})

test('a wrong key counts for nobody', async (t) => {
  const account = await openAccount(site)
  const limited = await account.issueKey({ limit_per_minute: 1 })
  for (let n = 0; n < 3; n += 1) t.is((await listed(`${limited.secret.slice(0, -2)}AA`)).status, 403)
  t.is((await listed(limited.secret)).status, 200)
})

test('the limit of a key is set and lifted at any time', async (t) => {
  const account = await openAccount(site)
  const key = await account.issueKey()
  for (let n = 0; n < 3; n += 1) t.is((await listed(key.secret)).status, 200)
  t.is((await account.manage('PATCH', `/api_keys/${key.id}`, { limit_per_minute: 1 })).status, 200)
  t.is((await listed(key.secret)).status, 200)
  t.is((await listed(key.secret)).status, 429)
  t.is((await account.manage('PATCH', `/api_keys/${key.id}`, { limit_per_minute: null })).status, 200)
  t.is((await listed(key.secret)).status, 200)
})
