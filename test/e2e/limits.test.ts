import test from 'ava'
import { bearer, having, send, sendJson, type Answer } from '../kit/network/http.js'
import { manage, openAccount } from '../kit/service/account.js'
import { lead } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'

/** Its minutes are long, so that no test meets the end of one. */
const site = serviceForFile({ clockRate: 0.001 })

/** A request with an API key. */
const listed = (key: string): Promise<Answer> => send(`${site.url}/api/v3/conversions`, { headers: bearer(key) })

/** Seconds of the processor that this process takes for `work`, however busy the machine is. */
const processorTime = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000_000
}

/** In seconds. Everybody else waits meanwhile. */
const longestHold = 4

test.serial('a body that is wrong in tens of thousands of places holds nobody up', async (t) => {
  const account = await openAccount(site)
  const events = Array<number>(40_000).fill(1)
  const taken = await processorTime(async () => {
    const { status, body } = await account.manage('POST', '/webhooks', {
      url: 'https://example.com',
      token: 'a',
      events,
    })
    t.is(status, 400)
    t.regex(body.errors?.at(-1) ?? '', /^events\.39999 must be one of /)
  })
  t.true(taken < longestHold, `${taken} s`)
})

test.serial('a query with thousands of parameters holds nobody up', async (t) => {
  const account = await openAccount(site)
  const taken = await processorTime(async () => {
    for (let n = 0; n < 20; n += 1) {
      t.is((await account.rest(`/contacts/find?phone=4155550123${'&a'.repeat(7_900)}`)).status, 404)
    }
  })
  t.true(taken < longestHold, `${taken} s`)
})

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

/** A lead whose fields, names and values, have so many bytes. */
const leadOf = (bytes: number) => {
  const sent: Record<string, unknown> = lead()
  const size = (): number =>
    Object.entries(sent).reduce((sum, [name, value]) => sum + name.length + String(value).length, 0)
  for (let n = 10; size() < bytes; n += 1) {
    const left = bytes - size() - 'extra 10'.length
    sent[`extra ${n}`] = 'x'.repeat(left > 9_000 ? 8_000 : left)
  }
  return sent
}

test('a lead whose own fields exceed 64 kB is 413 and stores nothing; one of 64 kB is taken', async (t) => {
  const account = await openAccount(site)
  const tooLarge = await account.submit(leadOf(65_537))
  t.is(tooLarge.status, 413)
  t.deepEqual(tooLarge.body.errors, ['the fields are larger than 64 kB'])
  t.is((await account.submit(leadOf(65_536))).status, 200)
  const leads = await account.manage('GET', `/marketing_sources/${account.sourceId}/leads`)
  t.is(having(leads, 'leads').length, 1)
})

test('a contact of many leads with ever new fields stays within 64 kB, and has the fields of the newest', async (t) => {
  const account = await openAccount(site)
  const { phone } = lead()
  for (let n = 0; n < 12; n += 1) await account.submit({ ...lead({ phone }), [`extra_${n}`]: 'x'.repeat(9_900) })
  const path = `${site.url}/api/v3/contacts/find?phone=${encodeURIComponent(String(phone))}`
  const answer = await send(path, { headers: bearer(account.apiKey) })
  const contact = having(answer, 'contact')
  t.true(JSON.stringify(contact).length < 67_000, `${JSON.stringify(contact).length}`)
  const extras = Object.keys(contact['additional_info'] as object).filter((name) => name.startsWith('extra_'))
  t.deepEqual(extras, ['extra_6', 'extra_7', 'extra_8', 'extra_9', 'extra_10', 'extra_11'])
})

test('an activity report with more than 32 kB of note and properties is 413, and a title of more than 1,000 characters is 400', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id: engagement } = await account.submitted()
  const path = `/engagements/${engagement}/activities`
  const report = (note: string) => account.manage('POST', path, { type: 'event', label: 'interested', note })
  const tooLarge = await report('x'.repeat(33_000))
  t.is(tooLarge.status, 413)
  t.deepEqual(tooLarge.body.errors, ['note and properties are larger than 32 kB'])
  t.is((await report('x'.repeat(32_000))).status, 201)
  const define = (title: string) => account.manage('POST', '/conversions', { title, value: 1 })
  const tooLong = await define('x'.repeat(1_001))
  t.is(tooLong.status, 400)
  t.deepEqual(tooLong.body.errors, ['title must be a text of at most 1,000 characters'])
  t.is((await define('x'.repeat(1_000))).status, 201)
  t.deepEqual((await define(' ')).body.errors, ['title must be a text that is not blank'])
})

test('the title of an account and the field that a source names have an end, too', async (t) => {
  const account = await openAccount(site)
  const title = 'x'.repeat(1_001)
  const opened = await manage(site, 'POST', '/accounts', { title })
  t.is(opened.status, 400)
  t.deepEqual(opened.body.errors, ['title must be a text of at most 1,000 characters'])
  const naming = (originator_field: string) =>
    account.manage('POST', '/marketing_sources', { title: 'x', playbook_id: account.playbookId, originator_field })
  t.deepEqual((await naming('x'.repeat(201))).body.errors, [
    'originator_field must be a text of at most 200 characters',
  ])
  t.is((await naming('x'.repeat(200))).status, 201)
})
