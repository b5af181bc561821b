import test from 'ava'
import type { Config } from '../../app/composition/config.js'
import { instantOf, type Instant } from '../../domain/instant.js'
import { having, send, sendJson } from '../kit/network/http.js'
import { idsOf, openAccount, type Account } from '../kit/service/account.js'
import { inboundOf, labelsOf, messagesOf, soon, type ShownMessage } from '../kit/service/conversation.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { lead as leadWith, newPhone } from '../kit/service/leads.js'
import { until } from '../kit/time/until.js'
import { openTwilioDouble, type Taken } from '../twilio-double/double.js'

const publicUrl = 'https://leads.example.com'
const start = Date.UTC(2026, 10, 23)
const now = (): Instant => instantOf(start)
const double = await openTwilioDouble(now, 1_000, (url) => url.replace(publicUrl, site.url))
test.after.always(() => double.close())

const changed: Partial<Config> = { clockRate: 1_000, publicUrl, sms: double.account() }
const site = serviceForFile(changed)

const settings = {
  title: 'Two texts',
  steps: [{ message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 100_000,
}

const following = async (title?: string): Promise<Account> => {
  const account = await openAccount(site, title)
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, settings)
  return account
}

const takenFor = (phone: string): ReadonlyArray<Taken> => double.taken.filter(({ form }) => form.get('To') === phone)

/** A lead that has its first text. */
const texted = async (account: Account, phone = newPhone()) => {
  const before = takenFor(phone).length
  const postUrl = account.postUrl.replace(publicUrl, site.url)
  const { contact_id, next_engagement_id } = idsOf(
    await sendJson(postUrl, 'POST', leadWith({ first_name: 'Ada', phone })),
  )
  const isShown = ({ state, ...ids }: ShownMessage) =>
    ids.next_engagement_id === next_engagement_id && state !== 'sending'
  await soon(() => takenFor(phone).length > before)
  await soon(async () => (await messagesOf({ account, contact_id })).some(isShown))
  const taken = takenFor(phone)[before]
  if (taken === undefined) throw new Error('the double has no text')
  return { account, phone, contact_id, taken }
}

const stateOf = async ({ account, contact_id }: { readonly account: Account; readonly contact_id: string }) =>
  (await messagesOf({ account, contact_id }))[0]?.state

test('a lead gets its first text through the provider, and it shows when that was delivered', async (t) => {
  const lead = await texted(await following())
  t.is(lead.taken.form.get('Body'), 'Hi Ada, this is Example Agency. Reply STOP to opt out.')
  t.is(await double.postStatus(lead.taken, 'sent'), 204)
  t.is(await stateOf(lead), 'sent')
  t.is(await double.postStatus(lead.taken, 'delivered'), 204)
  t.is(await double.postStatus(lead.taken, 'delivered'), 204)
  t.is(await double.postStatus(lead.taken, 'sent'), 204)
  t.is(await stateOf(lead), 'delivered')
  t.deepEqual(await labelsOf(lead), ['started'])
})

test('a link that is opened in the very moment in which its message is handed over leads to its target', async (t) => {
  const account = await following()
  const target = 'https://www.example.com/quote'
  const steps = [{ message: `This is {{account}}. {{link:${target}}} Reply STOP to opt out.`, delay_minutes: 0 }]
  t.is((await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps })).status, 200)
  const postUrl = account.postUrl.replace(publicUrl, site.url)
  const opened = Array.from({ length: 20 }, async () => {
    const phone = newPhone()
    const submitted = sendJson(postUrl, 'POST', leadWith({ first_name: 'Ada', phone }))
    await until('the message', 30_000, () => takenFor(phone).length > 0)
    const [link = ''] = /https:\S+\/l\/\w+/.exec(takenFor(phone)[0]?.form.get('Body') ?? '') ?? []
    const { status, headers } = await send(link.replace(publicUrl, site.url))
    await submitted
    return `${status} ${headers.location}`
  })
  t.deepEqual([...new Set(await Promise.all(opened))], [`302 ${target}`])
})

for (const [code, label] of [
  [30005, 'undeliverable'],
  [21610, 'opted_out'],
] as const) {
  test(`a text that will never arrive (${code}) ends the engagement as ${label}`, async (t) => {
    const lead = await texted(await following())
    t.is(await double.postStatus(lead.taken, 'undelivered', code), 204)
    t.is(await stateOf(lead), 'failed')
    t.deepEqual(await labelsOf(lead), ['started', label])
  })
}

test('a phone that is not reached is tried three times, and no engagement ends before', async (t) => {
  const lead = await texted(await following())
  for (const tries of [1, 2]) {
    t.is(await double.postStatus(takenFor(lead.phone)[tries - 1] ?? lead.taken, 'undelivered', 30003), 204)
    t.deepEqual(await labelsOf(lead), ['started'])
    await soon(() => takenFor(lead.phone).length === tries + 1)
    await soon(async () => (await stateOf(lead)) === 'sent')
  }
  t.is(await double.postStatus(takenFor(lead.phone)[2] ?? lead.taken, 'undelivered', 30003), 204)
  t.deepEqual(await labelsOf(lead), ['started', 'undeliverable'])
  t.is(takenFor(lead.phone).length, 3)
})

test('a text whose own time was over before it went out is tried again, more often than a phone that is not reached', async (t) => {
  const lead = await texted(await following())
  for (const tries of [1, 2, 3]) {
    t.is(await double.postStatus(takenFor(lead.phone)[tries - 1] ?? lead.taken, 'failed', 30036), 204)
    await soon(() => takenFor(lead.phone).length === tries + 1)
    await soon(async () => (await stateOf(lead)) === 'sent')
  }
  t.is(await double.postStatus(takenFor(lead.phone)[3] ?? lead.taken, 'delivered'), 204)
  t.is(await stateOf(lead), 'delivered')
  t.deepEqual(await labelsOf(lead), ['started'])
})

test('a sender that a carrier filters ends no engagement', async (t) => {
  const lead = await texted(await following())
  t.is(await double.postStatus(lead.taken, 'undelivered', 30007), 204)
  await soon(() => takenFor(lead.phone).length === 2)
  t.deepEqual(await labelsOf(lead), ['started'])
})

test('what the provider did not sign is refused, and nothing is recorded', async (t) => {
  const lead = await texted(await following())
  const url = (lead.taken.form.get('StatusCallback') ?? '').replace(publicUrl, site.url)
  const body = new URLSearchParams({ MessageSid: lead.taken.sid, MessageStatus: 'delivered' })
  for (const headers of [{}, { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }]) {
    t.is((await fetch(url, { method: 'POST', body, headers })).status, 403)
  }
  t.is(await stateOf(lead), 'sent')
})

test('a report on a message that nobody sent is counted, and no more', async (t) => {
  const { taken } = await texted(await following())
  for (const id of ['msg_00000000000000000000000009', 'none']) {
    const form = new URLSearchParams({ StatusCallback: `${publicUrl}/messaging/twilio/status/${id}` })
    t.is(await double.postStatus({ ...taken, form }, 'delivered'), 204)
  }
  t.regex((await send(`${site.url}/metrics`)).text, /leadloop_messages_unplaced_total\{what="report"\} 2/)
})

const sid = (n: number): string => `SM${n.toString(16).padStart(32, 'f')}`
let texts = 0

/** What the provider answers where somebody writes. */
const write = (from: string, text: string, fields: Readonly<Record<string, string>> = {}): Promise<number> => {
  texts += 1
  const form = { MessageSid: sid(texts), From: from, To: '+14155550100', Body: text, ...fields }
  return double.postInbound(`${publicUrl}/messaging/twilio/inbound`, form)
}

test('a reply fires interested, and one that comes twice is one message', async (t) => {
  const { account, contact_id, phone } = await texted(await following())
  t.is(await write(phone, 'Who is this?', { MessageSid: sid(1_000) }), 204)
  t.is(await write(phone, 'Who is this?', { MessageSid: sid(1_000) }), 204)
  t.deepEqual(await inboundOf({ account, contact_id }), ['Who is this?'])
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'interested'])
})

test('a text is shown to the account that wrote last, and a STOP counts for all that share the sender', async (t) => {
  const first = await texted(await following())
  const second = await texted(await following('Other Agency'), first.phone)
  const silent = await texted(await following('Third Agency'))
  t.is(await write(first.phone, 'Tell me more', { MessageSid: sid(2_000) }), 204)
  t.deepEqual(await inboundOf(first), [])
  t.deepEqual(await inboundOf(second), ['Tell me more'])
  await texted(first.account, first.phone)
  t.is(await write(first.phone, 'Tell me more', { MessageSid: sid(2_000) }), 204)
  t.deepEqual(await inboundOf(first), [], 'what comes again is where it was')
  t.is(await write(first.phone, 'Stop.'), 204)
  for (const { account, contact_id } of [first, second]) {
    t.true((await labelsOf({ account, contact_id })).includes('opted_out'))
    t.true(having(await account.find(first.phone), 'contact').opted_out)
  }
  t.deepEqual(await labelsOf(silent), ['started'])
})

test('what the provider took for an opt-out is one, whatever the words, and is confirmed by the provider alone', async (t) => {
  const { account, contact_id, phone } = await texted(await following())
  t.is(await write(phone, 'Arret', { OptOutType: 'STOP' }), 204)
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'opted_out'])
  const outbound = (await messagesOf({ account, contact_id })).filter(({ direction }) => direction === 'outbound')
  t.is(outbound.length, 1, 'the provider confirms it')
})

test('a STOP of a number that nobody has submitted counts for whoever submits it later, until a START', async (t) => {
  const account = await following()
  const phone = newPhone()
  t.is(await write(phone, 'STOP'), 204)
  const postUrl = account.postUrl.replace(publicUrl, site.url)
  const { contact_id } = idsOf(await sendJson(postUrl, 'POST', leadWith({ phone })))
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'filtered'])
  t.true(having(await account.find(phone), 'contact').opted_out)
  const other = newPhone()
  await write(other, 'STOP')
  await write(other, 'START')
  await texted(account, other)
  t.deepEqual(takenFor(phone), [])
})

test('of a text of a number that nobody wrote to only a count is kept', async (t) => {
  for (const from of [newPhone(), '72345']) t.is(await write(from, 'My secret'), 204)
  t.regex((await send(`${site.url}/metrics`)).text, /leadloop_messages_unplaced_total\{what="text"\} 2/)
})

test('a text to another number of the same provider concerns nobody here', async (t) => {
  const { account, contact_id, phone } = await texted(await following())
  t.is(await write(phone, 'STOP', { To: '+14155550188' }), 204)
  t.deepEqual(await labelsOf({ account, contact_id }), ['started'])
  t.is(await write(phone, 'STOP'), 204)
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'opted_out'])
})

test('a text that the provider did not sign is refused, and nothing is kept of it', async (t) => {
  const { account, contact_id, phone } = await texted(await following())
  const body = new URLSearchParams({ MessageSid: sid(3_000), From: phone, To: '+14155550100', Body: 'Hello' })
  const headers = { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }
  t.is((await fetch(`${site.url}/messaging/twilio/inbound`, { method: 'POST', body, headers })).status, 403)
  t.deepEqual(await inboundOf({ account, contact_id }), [])
})

test('an erasure takes away what the provider has of the contact, and of nobody else', async (t) => {
  const lead = await texted(await following())
  const other = await texted(await following('Other Agency'), lead.phone)
  t.is(await write(lead.phone, 'My secret', { MessageSid: sid(4_000) }), 204)
  await texted(other.account, lead.phone)
  const own = takenFor(lead.phone).map(({ sid: id }) => id)
  const { taken } = lead
  double.isUnfinished(taken.sid)
  const erased = async ({ account, contact_id }: typeof lead) => {
    const { body } = await account.manage('POST', `/contacts/${contact_id}/erase`)
    return body.erased === true
  }
  await soon(() => erased(lead))
  await soon(() => double.erased.has(taken.sid))
  t.deepEqual(
    own.filter((id) => double.erased.has(id)),
    [taken.sid],
  )
  t.false(double.erased.has(sid(4_000)))
  await soon(() => erased(other))
  await soon(() => own.every((id) => double.erased.has(id)))
  await soon(() => double.erased.has(sid(4_000)))
  t.pass()
})

test('what a member writes is tried again where the phone was not reached', async (t) => {
  const lead = await texted(await following())
  const { account, contact_id, phone } = lead
  const { next_engagement_id } = having(await account.manage('GET', '/follow_ups'), 'follow_ups')[0] ?? {}
  await account.manage('POST', `/engagements/${String(next_engagement_id)}/messages`, {
    text: 'It is Bob, from the agency',
  })
  await soon(() => takenFor(phone).length === 2)
  const written = async () =>
    (await messagesOf({ account, contact_id })).find(({ text }) => text.startsWith('It is Bob'))?.state
  await soon(async () => (await written()) === 'sent')
  t.is(await double.postStatus(takenFor(phone)[1] ?? lead.taken, 'undelivered', 30003), 204)
  await soon(() => takenFor(phone).length === 3)
  await soon(async () => (await written()) === 'sent')
  t.is(await double.postStatus(takenFor(phone)[2] ?? lead.taken, 'delivered'), 204)
  t.is(await written(), 'delivered')
})
