import test from 'ava'
import { send, bearer, having } from '../kit/network/http.js'
import { newPhone } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { openAccount } from '../kit/service/account.js'

const site = serviceForFile()

test('a contact by its id is the contact that find gives (contract 4.2)', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const { contact_id } = await account.submitted({ phone })
  const answer = await account.rest(`/contacts/${contact_id}`)
  t.is(answer.status, 200)
  t.deepEqual(answer.body, (await account.find(phone)).body)
  t.is(having(answer, 'contact').id, contact_id)
})

test('an id that leads to no contact of the account is 404 with a message (contract 4.2 and 7)', async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  const mine = await account.submitted()
  const theirs = await other.submitted()
  const { sold } = await account.standardConversions()
  const unknown = [
    theirs.contact_id,
    `nct_${'0'.repeat(26)}`,
    'nct_',
    mine.lead_id,
    sold,
    mine.contact_id.toLowerCase(),
    mine.contact_id.slice(0, -1),
    `${mine.contact_id}0`,
    `%20${mine.contact_id}`,
    `${mine.contact_id}%00`,
    'find%3Fphone',
    '%E0%A4%A',
    '..%2F..%2Fhealth',
    'x'.repeat(4_000),
  ]
  for (const id of unknown) {
    const answer = await account.rest(`/contacts/${id}`)
    t.is(answer.status, 404, id)
    t.deepEqual(answer.body, { message: 'contact not found' }, id)
  }
})

test('HEAD answers as GET does, without the body', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const path = `${site.url}/api/v3/contacts/${contact_id}`
  const [got, head] = await Promise.all([
    send(path, { headers: bearer(account.apiKey) }),
    send(path, { method: 'HEAD', headers: bearer(account.apiKey) }),
  ])
  t.is(head.status, 200)
  t.is(head.text, '')
  t.is(head.headers['content-length'], got.headers['content-length'])
})

test('answers are JSON, and other methods are 405 with what is allowed', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const path = `${site.url}/api/v3/contacts/${contact_id}`
  t.regex((await account.rest(`/contacts/${contact_id}`)).headers['content-type'] ?? '', /^application\/json/)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
    const answer = await send(path, { method, headers: bearer(account.apiKey) })
    t.is(answer.status, 405, method)
    t.regex(answer.headers.allow ?? '', /\bGET\b/, method)
    t.is(answer.body.errors?.length, 1, method)
  }
})
