import test from 'ava'
import { having, send, type Answer, type Managed } from '../kit/network/http.js'
import { phoneBrowser } from '../kit/network/phone-browser.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { newPhone } from '../kit/service/leads.js'
import { until } from '../kit/time/until.js'

const site = serviceForFile()

const target = 'https://www.example.com/quote?from=text'
const text = `Your quote: {{link:${target}}}, or call: {{link:https://www.example.com/call}}`

/** The links in the first message to a lead of the account. */
const linked = async (account: Account) => {
  const { contact_id } = await account.submitted({ first_name: 'Ada', phone: newPhone() })
  let links: ReadonlyArray<string> = []
  await until('the message', 30_000, async () => {
    const messages = having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
    const text = messages.map((message) => String(message['text'])).join('')
    links = text.match(/http:\S+\/l\/\w+/g) ?? []
    return links.length > 0
  })
  const [first = '', second = ''] = links
  return { contact_id, first, second }
}

const linking = async (message = text): Promise<Account> => {
  const account = await openAccount(site)
  const changed = { steps: [{ message, delay_minutes: 0 }], quiet_hours: null }
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, changed)
  return account
}

const open = (link: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Answer> =>
  send(link, { method, headers: { 'user-agent': phoneBrowser, ...headers } })

const clicksOf = async (account: Account, contactId: string): Promise<ReadonlyArray<Managed>> =>
  having(await account.manage('GET', `/contacts/${contactId}/timeline`), 'timeline').filter(
    ({ label }) => label === 'link_clicked',
  )

test('a link of a message leads to its target, and its first opening by a person is an activity', async (t) => {
  const account = await linking()
  const neighbour = await linking()
  const { contact_id, first, second } = await linked(account)
  const other = await linked(neighbour)
  t.not(first, other.first)
  for (let time = 1; time <= 2; time += 1) {
    const { status, headers } = await open(first)
    t.is(status, 302)
    t.is(headers.location, target)
    t.is(headers['cache-control'], 'no-store')
    t.is((await clicksOf(account, contact_id)).length, 1, `opened ${time} times`)
  }
  t.is((await open(second)).headers.location, 'https://www.example.com/call')
  const clicks = await clicksOf(account, contact_id)
  t.deepEqual(
    clicks.map(({ type, properties }) => [type, properties]),
    [
      ['conversion', { url: target }],
      ['conversion', { url: 'https://www.example.com/call' }],
    ],
  )
  t.deepEqual(await clicksOf(neighbour, other.contact_id), [])
})

for (const [what, url, location] of [
  [
    'with letters beyond Latin-1',
    'https://例え.example/見積?名=値',
    'https://xn--r8jz45g.example/%E8%A6%8B%E7%A9%8D?%E5%90%8D=%E5%80%A4',
  ],
  ['with letters of Latin-1', 'https://a.example/café', 'https://a.example/caf%C3%A9'],
  ['with half of a surrogate pair', 'https://a.example/\ud800', 'https://a.example/%EF%BF%BD'],
  ['without slashes before its host', 'https:a.example', 'https://a.example/'],
] as const) {
  test(`a link ${what} leads to its target`, async (t) => {
    const account = await linking(`Your quote: {{link:${url}}}`)
    const { first } = await linked(account)
    const { status, headers } = await open(first)
    t.is(status, 302)
    t.is(headers.location, location)
  })
}

for (const [looksAt, headers, method] of [
  ['iMessage', { 'user-agent': 'Mozilla/5.0 (Macintosh) facebookexternalhit/1.1 Facebot Twitterbot/1.0' }],
  ['WhatsApp', { 'user-agent': 'WhatsApp/2.23.20.0' }],
  ['a browser that fetches ahead', { 'sec-purpose': 'prefetch;prerender' }],
  ['a HEAD request', {}, 'HEAD'],
] as const) {
  test(`that ${looksAt} looks at a link is no activity`, async (t) => {
    const account = await linking()
    const { contact_id, first } = await linked(account)
    const { status, headers: answered } = await open(first, headers, method)
    t.is(status, 302)
    t.is(answered.location, target)
    t.deepEqual(await clicksOf(account, contact_id), [])
    await open(first)
    t.is((await clicksOf(account, contact_id)).length, 1)
  })
}

test('after an outcome a link still leads to its target, and fires nothing; after an erasure it leads nowhere', async (t) => {
  const account = await linking()
  const { contact_id, first } = await linked(account)
  await account.manage('POST', `/contacts/${contact_id}/messages`, { text: 'STOP' })
  t.is((await open(first)).status, 302)
  t.deepEqual(await clicksOf(account, contact_id), [])
  await until('the erasure', 30_000, async () => {
    const { body } = await account.manage('POST', `/contacts/${contact_id}/erase`)
    return body.erased === true
  })
  t.is((await open(first)).status, 404)
})

test('a code that no message has is not found', async (t) => {
  for (const path of ['00000000000000', '000000000000000', 'x', '', `${'0'.repeat(14)}é`])
    t.is((await send(`${site.url}/l/${encodeURIComponent(path)}`)).status, 404, path)
})
