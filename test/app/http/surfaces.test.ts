import test from 'ava'
import { send, sendJson, bearer } from '../../kit/network/http.js'
import { lead } from '../../kit/service/leads.js'
import { serviceForFile } from '../../kit/service/in-process-service.js'
import { openAccount } from '../../kit/service/account.js'
import { operatorKey } from '../../kit/service/settings.js'

const site = serviceForFile()

test('the version of the REST API stands in its path, and no other is served (contract 9)', async (t) => {
  const { apiKey } = await openAccount(site)
  for (const base of ['/api', '/api/v1', '/api/v2', '/api/v4', '/api/v33', '']) {
    t.is((await send(`${site.url}${base}/conversions`, { headers: bearer(apiKey) })).status, 404, base)
  }
  t.is((await send(`${site.url}/api/v3/conversions`, { headers: bearer(apiKey) })).status, 200)
})

test('the post URL has no version (contract 9)', async (t) => {
  const account = await openAccount(site)
  t.is(new URL(account.postUrl).pathname, `/marketing_sources/${account.id}/${account.sourceId}`)
  const versioned = account.postUrl.replace('/marketing_sources', '/api/v3/marketing_sources')
  t.is((await sendJson(versioned, 'POST', lead())).status, 404)
})

test('there are no agent endpoints yet (contract 4.3)', async (t) => {
  const account = await openAccount(site)
  for (const path of ['/agents', '/agents/1', '/contacts', '/conversions/events']) {
    t.is((await account.rest(path)).status, 404, path)
  }
})

test('a path that leads nowhere is 404 with a message in JSON, on every surface', async (t) => {
  const account = await openAccount(site)
  const keys = {
    '/api/v3/nothing': account.apiKey,
    '/manage/v1/nothing': operatorKey,
    '/nothing': '',
    '/health/nothing': '',
    '/': '',
  }
  for (const [path, key] of Object.entries(keys)) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await send(site.url + path, { method, headers: bearer(key) })
      t.is(answer.status, 404, `${method} ${path}`)
      t.deepEqual(answer.body, { message: 'there is nothing at this path' }, `${method} ${path}`)
      t.regex(answer.headers['content-type'] ?? '', /^application\/json/, `${method} ${path}`)
    }
  }
})
