import test from 'ava'
import { bearer, send, sendJson, having } from '../kit/network/http.js'
import { lead, newPhone } from '../kit/service/leads.js'
import { labelOf, payloadOf, type Received, receiverFor } from '../kit/network/receiver.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import {
  deliveriesOf,
  hookToken,
  settledDeliveries,
  subscribed,
  turned,
  webhookOf,
  newestAfter,
} from '../kit/service/subscription.js'
import { idsOf, openAccount } from '../kit/service/account.js'
import { operatorKey } from '../kit/service/settings.js'
import { sleep } from '../kit/time/until.js'
import { mostAttempts } from '../../domain/retry-schedule.js'

const site = serviceForFile()
/** Fifteen seconds pass in 75 ms. */
const quick = serviceForFile({ clockRate: 200 })
/** Four days pass in a third of a second. */
const rushing = serviceForFile({ clockRate: 1_000_000 })

const hasLabel =
  (label: string) =>
  (request: Received): boolean =>
    labelOf(request) === label

test('what is due to the webhooks of a disabled account is posted all the same', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: ['interested'] })
  const { next_engagement_id } = await account.submitted()
  t.is((await account.manage('PATCH', '', { enabled: false })).status, 200)
  t.is((await account.report(next_engagement_id, 'event', 'interested')).status, 201)
  t.is(labelOf(await receiver.receivedOne()), 'interested')
})

test('started reaches the webhook: a POST with the bearer token and JSON (contract 5 and 6.2)', async (t) => {
  const { account, receiver } = await subscribed(t, site)
  const phone = newPhone()
  const ids = await account.submitted({ phone, first_name: 'Zoë' })
  const request = await receiver.receivedOne()
  t.is(request.method, 'POST')
  t.is(request.path, '/hook')
  t.is(request.headers.authorization, `Bearer ${hookToken}`)
  t.is(request.headers['content-type'], 'application/json')
  t.is(Number(request.headers['content-length']), request.body.length)
  t.truthy(request.headers['webhook-id'])
  t.regex(String(request.headers['webhook-timestamp']), /^\d{10}$/)

  const payload = payloadOf(request)
  const { created_at } = payload.activity ?? { created_at: '' }
  t.deepEqual(payload, {
    activity: {
      type: 'event',
      label: 'started',
      next_engagement_id: ids.next_engagement_id,
      play_id: null,
      note: 'The playbook started',
      properties: {},
      created_at,
      updated_at: created_at,
    },
    contact: having(await account.find(phone), 'contact'),
  })
  t.regex(created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  t.regex(ids.next_engagement_id, /^neg_/)
})

test('the flat format has type, label and originators, and nothing else (contract 6.3)', async (t) => {
  const { account, receiver } = await subscribed(t, site, { format: 'flat' })
  await account.submitted({ lead_id: 'L-1' })
  await account.submitted()
  const bodies = (await receiver.received(2)).map(({ body }) => body.toString('utf8'))
  t.deepEqual(
    [...bodies].sort(),
    [
      '{"activity_type":"event","activity_label":"started","lead_originators":[]}',
      '{"activity_type":"event","activity_label":"started","lead_originators":[{"origin":"Search ads","key":"L-1"}]}',
    ].sort(),
  )
})

test('lead_originators stand in every payload of a lead that carried one, in no other (contract 4.6.2)', async (t) => {
  const { account, receiver } = await subscribed(t, site)
  const { sold } = await account.standardConversions()
  const withKey = await account.submitted({ external_id: 'E-1' })
  await account.report(withKey.next_engagement_id, 'event', 'interested')
  await account.record(sold, { contact_id: withKey.contact_id })
  const without = await account.submitted()
  const requests = await receiver.received(4)
  for (const request of requests) {
    const { activity, lead_originators } = payloadOf(request)
    const isOther = activity?.next_engagement_id === without.next_engagement_id
    t.deepEqual(lead_originators, isOther ? undefined : [{ origin: 'Search ads', key: 'E-1' }], activity?.label)
  }
})

test('a conversion is one activity: quoted, sold, or custom_conversion with its title (contract 6.4)', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: ['quoted', 'sold', 'custom_conversion'] })
  const { quoted, sold } = await account.standardConversions()
  const renewed = await account.addConversion('Renewed', 5)
  const { contact_id, next_engagement_id } = await account.submitted()
  for (const conversion of [quoted, sold, renewed, sold]) await account.record(conversion, { contact_id })
  const activities = (await receiver.received(3)).map((request) => payloadOf(request).activity)
  const shown = activities.map((activity) => ({ label: activity?.label, properties: activity?.properties }))
  t.deepEqual(
    [...shown].sort((one, other) => String(one.label).localeCompare(String(other.label))),
    [
      { label: 'custom_conversion', properties: { title: 'Renewed' } },
      { label: 'quoted', properties: {} },
      { label: 'sold', properties: {} },
    ],
  )
  for (const activity of activities) t.like(activity, { type: 'conversion', next_engagement_id, play_id: null })
  t.is(new Set(activities.map((activity) => activity?.created_at)).size, 3)
})

const reported = [
  ['event', 'interested'],
  ['event', 'phone_call_scheduled'],
  ['event', 'phone_call_started'],
  ['event', 'phone_call_connected'],
  ['event', 'phone_call_rep_attempted'],
  ['event', 'phone_call_transferred'],
  ['event', 'phone_call_transfer_failed'],
  ['event', 'phone_call_completed'],
  ['event', 'phone_call_missed'],
  ['event', 'phone_call_received'],
  ['conversion', 'link_clicked'],
  ['outcome', 'dormant'],
  ['outcome', 'opted_out'],
  ['outcome', 'undeliverable'],
  ['outcome', 'qualified'],
  ['outcome', 'not_interested'],
  ['outcome', 'unqualified'],
] as const

test('every label that can be reported reaches the webhook with note and properties (contract 6.4)', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: reported.map(([, label]) => label) })
  for (const [type, label] of reported) {
    const { next_engagement_id } = await account.submitted()
    const properties = { seconds: 12, tags: ['a', { b: null }], text: 'é' }
    const answer = await account.report(next_engagement_id, type, label, { note: `About ${label}`, properties })
    t.is(answer.status, 201, label)
    const { activity } = payloadOf(await receiver.receivedOne(hasLabel(label)))
    const { created_at } = having(answer, 'activity')
    t.deepEqual(activity, {
      type,
      label,
      next_engagement_id,
      play_id: null,
      note: `About ${label}`,
      properties,
      created_at,
      updated_at: created_at,
    })
  }
  t.is(receiver.requests.length, reported.length)
})

test('a whole number among the properties of an activity keeps its digits', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: ['interested'] })
  const { next_engagement_id } = await account.submitted()
  const answer = await send(
    `${site.url}/manage/v1/accounts/${account.id}/engagements/${next_engagement_id}/activities`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(operatorKey) },
      body: `{"type":"event","label":"interested","properties":{"call_id":1846523456789012345,"more":[{"id":9007199254740993}],
      "seconds":12,"most":9007199254740991,"score":0.25,"million":1e6,"below":-3,"far_below":-9007199254740993,
      "title":"properties","endless":1e400}}`,
    },
  )
  t.is(answer.status, 201, answer.text)
  t.deepEqual(payloadOf(await receiver.receivedOne()).activity?.properties, {
    call_id: '1846523456789012345',
    more: [{ id: '9007199254740993' }],
    seconds: 12,
    most: 9_007_199_254_740_991,
    score: 0.25,
    million: 1_000_000,
    below: -3,
    far_below: '-9007199254740993',
    title: 'properties',
    endless: '1e400',
  })
})

test('an activity without a note has none', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: ['interested'] })
  const { next_engagement_id } = await account.submitted()
  await account.report(next_engagement_id, 'event', 'interested', { note: null, properties: null })
  const request = await receiver.receivedOne()
  const { activity } = payloadOf(request)
  t.false('note' in (activity ?? {}))
  t.deepEqual(activity?.properties, {})
})

test('two activities of one label in one conversation differ in created_at (contract 6.6.5)', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: ['phone_call_missed'] })
  const { next_engagement_id } = await account.submitted()
  await Promise.all(Array.from({ length: 12 }, () => account.report(next_engagement_id, 'event', 'phone_call_missed')))
  const requests = await receiver.received(12)
  t.is(new Set(requests.map((request) => payloadOf(request).activity?.created_at)).size, 12)
})

test('opted_out sets the field of the contact, and a later lead is filtered (contract 3)', async (t) => {
  const { account, receiver } = await subscribed(t, site, { events: ['started', 'opted_out', 'filtered'] })
  const phone = newPhone()
  const first = await account.submitted({ phone })
  t.is((await account.report(first.next_engagement_id, 'outcome', 'opted_out')).status, 201)
  t.true(having(await account.find(phone), 'contact').opted_out)
  const optedOut = payloadOf(await receiver.receivedOne(hasLabel('opted_out')))
  t.true(optedOut.contact?.opted_out, 'the payload says so too')
  const later = await account.submitted({ phone })
  const filtered = payloadOf(await receiver.receivedOne(hasLabel('filtered')))
  t.like(filtered.activity, { type: 'outcome', next_engagement_id: later.next_engagement_id })
  t.true(filtered.contact?.opted_out)
  await receiver.received(4)
  const started = receiver.requests.filter(hasLabel('started'))
  t.deepEqual(
    started.map((request) => payloadOf(request).activity?.next_engagement_id),
    [first.next_engagement_id, later.next_engagement_id],
  )
  t.is((await account.report(later.next_engagement_id, 'outcome', 'qualified')).status, 409)
})

test('a webhook gets the labels that it subscribed to, and all when it chose none (contract 6.1)', async (t) => {
  const { account, receiver: all, webhookId: allId } = await subscribed(t, site)
  const [some, none] = [await receiverFor(t), await receiverFor(t)]
  const someId = await account.addWebhook({ url: some.url, token: 'other', events: ['sold', 'interested', 'sold'] })
  const noneId = await account.addWebhook({ url: none.url, token: 'other', events: ['dormant'] })
  const { contact_id, next_engagement_id } = await account.submitted()
  await account.report(next_engagement_id, 'event', 'interested')
  await account.report(next_engagement_id, 'event', 'phone_call_missed')
  await account.record((await account.standardConversions()).sold, { contact_id })
  await Promise.all([all.received(4), some.received(2)])
  const labels = async (id: string, count: number) =>
    (await settledDeliveries(account, id, count)).map(({ label }) => label).sort()
  t.deepEqual(await labels(allId, 4), ['interested', 'phone_call_missed', 'sold', 'started'])
  t.deepEqual(await labels(someId, 2), ['interested', 'sold'])
  t.deepEqual(await deliveriesOf(account, noneId), [])
  t.is(some.requests.length, 2)
  t.is(some.requests[0]?.headers.authorization, 'Bearer other')
  t.is(none.requests.length, 0)
})

test('a webhook of a playbook gets the conversations of that playbook only (contract 6.1)', async (t) => {
  const { account, receiver: all, webhookId: allId } = await subscribed(t, site)
  const playbook = having(await account.manage('POST', '/playbooks', { title: 'Boats' }), 'playbook')
  const boats = await receiverFor(t)
  const boatsId = await account.addWebhook({ url: boats.url, token: hookToken, playbook_id: playbook.id })
  const source = await account.addSource({ playbook_id: playbook.id })
  await account.submitted()
  const { next_engagement_id } = idsOf(await sendJson(source.postUrl, 'POST', lead()))
  const request = await boats.receivedOne()
  t.is(payloadOf(request).activity?.next_engagement_id, next_engagement_id)
  await all.received(2)
  t.is((await settledDeliveries(account, allId, 2)).length, 2)
  t.is((await deliveriesOf(account, boatsId)).length, 1)
})

test('a webhook of another account gets nothing', async (t) => {
  const [mine, theirs] = await Promise.all([subscribed(t, site), subscribed(t, site)])
  await mine.account.submitted()
  await mine.receiver.received(1)
  t.deepEqual(await deliveriesOf(theirs.account, theirs.webhookId), [])
  t.is(theirs.receiver.requests.length, 0)
})

test('a webhook that was added later gets what happens from then on', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id } = await account.submitted()
  const receiver = await receiverFor(t)
  await account.addWebhook({ url: receiver.url, token: hookToken })
  await account.report(next_engagement_id, 'event', 'interested')
  const request = await receiver.receivedOne()
  t.is(labelOf(request), 'interested')
})

test('a changed webhook is served at its new URL with its new token, format and events', async (t) => {
  const { account, receiver: old, webhookId } = await subscribed(t, site)
  await account.submitted()
  await old.received(1)
  const next = await receiverFor(t)
  const change = { url: next.url, token: 'hook-token-2', format: 'flat', events: ['interested'] }
  t.is((await account.manage('PATCH', `/webhooks/${webhookId}`, change)).status, 200)
  const { next_engagement_id } = await account.submitted()
  await account.report(next_engagement_id, 'event', 'interested')
  const request = await next.receivedOne()
  t.is(request.headers.authorization, 'Bearer hook-token-2')
  t.is(request.body.toString('utf8'), '{"activity_type":"event","activity_label":"interested","lead_originators":[]}')
  t.is(old.requests.length, 1)
})

test('a removed webhook gets nothing more, its retries included', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, quick)
  receiver.answer(() => 500)
  const control = await receiverFor(t)
  const controlId = await account.addWebhook({ url: control.url, token: hookToken })
  const { next_engagement_id } = await account.submitted()
  await receiver.received(1)
  t.is((await account.manage('DELETE', `/webhooks/${webhookId}`)).status, 200)
  const seen = receiver.requests.length
  await account.report(next_engagement_id, 'event', 'interested')
  await control.received(2)
  await settledDeliveries(account, controlId, 2)
  // By now the first retry would have come twice over.
  await sleep(300)
  t.true(receiver.requests.length <= seen + 1, 'one attempt may have been in flight')
  t.false(receiver.requests.some(hasLabel('interested')))
})

for (const status of [200, 201, 202, 204, 299]) {
  test(`the status ${status} is success (contract 6.6.2)`, async (t) => {
    const { account, receiver, webhookId } = await subscribed(t, site)
    receiver.answer(() => status)
    await account.submitted()
    await receiver.received(1)
    const [delivery] = await settledDeliveries(account, webhookId, 1)
    t.like(delivery, { state: 'succeeded', attempts: 1, label: 'started' })
    t.like(delivery?.['last_outcome'], { attempt: 1, status })
    t.false('next_attempt_at' in (delivery ?? {}))
  })
}

for (const status of [300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503]) {
  test(`the status ${status} is a failure, tried again after 15 to 25 seconds (contract 6.6.2)`, async (t) => {
    const { account, receiver, webhookId } = await subscribed(t, site)
    const elsewhere = await receiverFor(t)
    receiver.answer((_n, response) => {
      response.writeHead(status, { location: elsewhere.url }).end()
      return undefined
    })
    await account.submitted()
    const request = await receiver.receivedOne()
    const delivery = await newestAfter(account, webhookId, 1)
    t.like(delivery, { state: 'due', attempts: 1 })
    t.like(delivery['last_outcome'], { attempt: 1, status })
    const tried = Number(request.headers['webhook-timestamp']) * 1000
    const wait = Date.parse(String(delivery['next_attempt_at'])) - tried
    t.true(wait >= 15_000 && wait <= 28_000, `${wait} ms`)
    t.is(elsewhere.requests.length, 0, 'redirects are not followed')
  })
}

test('a failed delivery is retried with the same bytes and the same webhook-id (contract 6.6.3)', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, quick, { events: ['started', 'sold'] })
  receiver.answer((n) => (n < 4 ? 503 : 200))
  const phone = newPhone()
  await account.submitted({ phone, first_name: 'Zoë' })
  const requests = await receiver.received(4)
  const [first] = requests
  for (const request of requests) {
    t.deepEqual(request.body, first?.body)
    t.is(request.headers['webhook-id'], first?.headers['webhook-id'])
    t.is(request.headers.authorization, `Bearer ${hookToken}`)
  }
  const times = requests.map(({ headers }) => Number(headers['webhook-timestamp']))
  const least = [15, 16, 31]
  least.forEach((seconds, index) => {
    const waited = (times[index + 1] ?? 0) - (times[index] ?? 0)
    t.true(waited >= seconds - 1, `retry ${index + 1} came after ${waited} s`)
  })
  const [delivery] = await settledDeliveries(account, webhookId, 1)
  t.like(delivery, { state: 'succeeded', attempts: 4 })
  t.is(receiver.requests.length, 4)
})

test('each webhook and each activity has a webhook-id of its own', async (t) => {
  const { account, receiver: one } = await subscribed(t, site)
  const other = await receiverFor(t)
  await account.addWebhook({ url: other.url, token: hookToken })
  const { next_engagement_id } = await account.submitted()
  await account.report(next_engagement_id, 'event', 'interested')
  const requests = [...(await one.received(2)), ...(await other.received(2))]
  t.is(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 4)
})

test('a receiver that does not answer has three seconds, and keeps no other waiting (contract 6.6.1)', async (t) => {
  const { account, receiver: hanging, webhookId } = await subscribed(t, site)
  hanging.answer(() => undefined)
  const other = await receiverFor(t)
  await account.addWebhook({ url: other.url, token: hookToken })
  const begun = performance.now()
  await account.submitted()
  await Promise.all([hanging.received(1), other.received(1)])
  const delivery = await newestAfter(account, webhookId, 1)
  const elapsed = performance.now() - begun
  t.like(delivery, { state: 'due', attempts: 1, last_outcome: { status: null } })
  t.true(elapsed > 2_900, `${elapsed} ms`)
})

test('the last failed attempt of a delivery turns the webhook off, and what follows is held (contract 6.6.3 and 6.6.4)', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  receiver.answer(() => 500)
  const { next_engagement_id } = await account.submitted()
  const requests = await receiver.received(mostAttempts)
  const off = await turned(account, webhookId, 'off')
  t.is(off?.['state'], 'off')
  t.like(off?.['turned_off'], { reason: 'status 500' })
  t.is(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 1)
  t.is(new Set(requests.map(({ body }) => body.toString('utf8'))).size, 1)
  const times = requests.map(({ headers }) => Number(headers['webhook-timestamp']))
  const days = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 86_400
  t.true(days > 3.7, `${days} days`)

  t.is((await account.report(next_engagement_id, 'event', 'interested')).status, 201)
  const [held, failed] = await settledDeliveries(account, webhookId, 2)
  t.like(held, { label: 'interested', state: 'held', attempts: 0 })
  t.like(failed, { label: 'started', state: 'failed', attempts: mostAttempts })
  t.like(failed?.['last_outcome'], { attempt: mostAttempts, status: 500 })
  await sleep(100)
  t.is(receiver.requests.length, mostAttempts)
})

test('the last retry may still succeed, and then nothing is turned off (contract 6.6.4)', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  receiver.answer((n) => (n < mostAttempts ? 500 : 200))
  await account.submitted()
  await receiver.received(mostAttempts)
  const [delivery] = await settledDeliveries(account, webhookId, 1)
  t.like(delivery, { state: 'succeeded', attempts: mostAttempts })
  t.is((await webhookOf(account, webhookId))?.['state'], 'on')
})

test('a webhook that is off does not concern another of the same account', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  receiver.answer(() => 404)
  const fine = await receiverFor(t)
  await account.addWebhook({ url: fine.url, token: hookToken })
  await account.submitted()
  await receiver.received(mostAttempts)
  await turned(account, webhookId, 'off')
  await account.submitted()
  t.is((await fine.received(2)).length, 2)
})

test('two hundred activities reach a slow receiver, each once, a few at a time', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site, { events: ['phone_call_missed'] })
  let open = 0
  let most = 0
  receiver.answer((_n, response) => {
    open += 1
    most = Math.max(most, open)
    void sleep(5).then(() => {
      open -= 1
      response.writeHead(200).end()
    })
    return undefined
  })
  const { next_engagement_id } = await account.submitted()
  for (let n = 0; n < 10; n += 1) {
    await Promise.all(
      Array.from({ length: 20 }, () => account.report(next_engagement_id, 'event', 'phone_call_missed')),
    )
  }
  await receiver.received(200)
  const all = await settledDeliveries(account, webhookId, 200)
  t.true(all.every(({ state }) => state === 'succeeded'))
  t.is(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 200)
  t.is(receiver.requests.length, 200)
  t.true(most <= 8, `${most} requests were open at once`)
})
