import test from 'ava'
import { namedIn, type Managed, having } from '../kit/network/http.js'
import { newPhone } from '../kit/service/leads.js'
import { labelOf, type Received, receiverFor } from '../kit/network/receiver.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import {
  deliveriesIn,
  deliveriesOf,
  hookToken,
  settledDeliveries,
  subscribed,
  turned,
  webhookIdOf,
  webhookOf,
  deliveryAfter,
  deliveryOf,
  newestAfter,
} from '../kit/service/subscription.js'
import { sleep } from '../kit/time/until.js'
import { openAccount } from '../kit/service/account.js'
import { pages } from '../kit/service/pages.js'

const site = serviceForFile()
/** Fifteen seconds pass in 75 ms. */
const quick = serviceForFile({ clockRate: 200 })
/** Four days pass in a third of a second. */
const rushing = serviceForFile({ clockRate: 1_000_000 })

const idsIn = (all: ReadonlyArray<Managed>): ReadonlyArray<string> => all.map(({ id }) => id).sort()

/** `started` failed and turned the webhook off, two labels of it are held, and before that five succeeded. */
const ofManyStates = async (t: Parameters<typeof subscribed>[0]) => {
  const subscription = await subscribed(t, rushing)
  const { account, receiver, webhookId } = subscription
  const good = await account.submitted()
  for (let n = 0; n < 4; n += 1) await account.report(good.next_engagement_id, 'event', 'phone_call_missed')
  await receiver.received(5)
  await settledDeliveries(account, webhookId, 5)
  // Whatever follows has another time than what came before.
  await sleep(2)
  receiver.answer(() => 500)
  const bad = await account.submitted()
  await receiver.received(24)
  await turned(account, webhookId, 'off')
  await account.report(good.next_engagement_id, 'event', 'interested')
  await account.report(bad.next_engagement_id, 'event', 'interested')
  const all = await settledDeliveries(account, webhookId, 8)
  return { ...subscription, good, bad, all }
}

test('the log is filtered by state and counts what it finds', async (t) => {
  const { account, webhookId, all } = await ofManyStates(t)
  const counts = { succeeded: 5, failed: 1, held: 2, due: 0, skipped: 0, abandoned: 0, undelivered: 3 }
  for (const [state, count] of Object.entries(counts)) {
    const answer = await account.manage('GET', `/webhooks/${webhookId}/deliveries?state=${state}`)
    t.is(answer.status, 200, state)
    t.is(answer.body.count, count, state)
    const expected = all.filter((one) =>
      state === 'undelivered' ? one['state'] !== 'succeeded' : one['state'] === state,
    )
    t.deepEqual(idsIn(having(answer, 'deliveries')), idsIn(expected), state)
    t.is(answer.body.next_cursor, null, state)
  }
  const plain = await account.manage('GET', `/webhooks/${webhookId}/deliveries`)
  t.false('count' in plain.body, 'all that were ever delivered are not counted')
  const counted = await account.manage('GET', `/webhooks/${webhookId}/deliveries?state=succeeded&limit=2`)
  t.is(having(counted, 'deliveries').length, 2)
  t.is(counted.body.count, 5, 'the count is that of all pages')
})

test('the log is filtered by lead, and by state beside it', async (t) => {
  const { account, webhookId, good, bad, all } = await ofManyStates(t)
  for (const { lead_id } of [good, bad]) {
    const ofLead = all.filter((one) => one['lead_id'] === lead_id)
    t.deepEqual(idsIn(await deliveriesOf(account, webhookId, `&lead_id=${lead_id}`)), idsIn(ofLead))
    for (const state of ['succeeded', 'failed', 'held', 'due', 'undelivered']) {
      const answer = await account.manage('GET', `/webhooks/${webhookId}/deliveries?state=${state}&lead_id=${lead_id}`)
      const expected = ofLead.filter((one) =>
        state === 'undelivered' ? one['state'] !== 'succeeded' : one['state'] === state,
      )
      t.deepEqual(idsIn(having(answer, 'deliveries')), idsIn(expected), state)
      t.false('count' in answer.body)
    }
  }
  t.deepEqual(await deliveriesOf(account, webhookId, `&lead_id=led_${'0'.repeat(26)}`), [])
})

test('the log is filtered by when deliveries became due, both ends included', async (t) => {
  const { account, webhookId, all } = await ofManyStates(t)
  const times = all.map(({ created_at }) => created_at).toSorted()
  const [from = '', to = ''] = [times[2], times[5]]
  const isIn = ({ created_at }: Managed): boolean => created_at >= from && created_at <= to
  const period = `&from=${from}&to=${to}`
  t.deepEqual(idsIn(await deliveriesOf(account, webhookId, period)), idsIn(all.filter(isIn)))
  t.deepEqual(
    idsIn(await deliveriesOf(account, webhookId, `&from=${from}`)),
    idsIn(all.filter(({ created_at }) => created_at >= from)),
  )
  t.deepEqual(
    idsIn(await deliveriesOf(account, webhookId, `&to=${to}`)),
    idsIn(all.filter(({ created_at }) => created_at <= to)),
  )
  const answer = await account.manage('GET', `/webhooks/${webhookId}/deliveries?state=succeeded${period}`)
  const expected = all.filter((one) => isIn(one) && one['state'] === 'succeeded')
  t.deepEqual(idsIn(having(answer, 'deliveries')), idsIn(expected))
  t.is(answer.body.count, expected.length)
  const zone = `&from=${encodeURIComponent(from.replace('Z', '+00:00'))}`
  t.deepEqual(await deliveriesOf(account, webhookId, zone), await deliveriesOf(account, webhookId, `&from=${from}`))
  t.deepEqual(await deliveriesOf(account, webhookId, `&from=${to}&to=${from}`), [])
})

test('pages under any filter have no gap and no repeat, newest first, though many share a time', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  const leads = [await account.submitted(), await account.submitted()]
  for (const { next_engagement_id } of leads) {
    await Promise.all(
      Array.from({ length: 11 }, () => account.report(next_engagement_id, 'event', 'phone_call_missed')),
    )
  }
  await receiver.received(24)
  const all = await settledDeliveries(account, webhookId, 24)
  const times = all.map(({ created_at }) => created_at).toSorted()
  const lead = leads[0]?.lead_id ?? ''
  const deliveries = `/webhooks/${webhookId}/deliveries`
  const filters = [
    '',
    'state=succeeded',
    `lead_id=${lead}`,
    `lead_id=${lead}&state=succeeded`,
    `from=${times[7] ?? ''}`,
  ]
  for (const filter of [...filters, `state=succeeded&from=${times[3] ?? ''}&to=${times[20] ?? ''}`]) {
    const whole = await deliveriesOf(account, webhookId, `&${filter}`)
    t.true(whole.length > 8, filter)
    const paged = await pages(account, `${deliveries}?${filter}&limit=5`, 'deliveries')
    t.true(paged.every(({ length }, index) => length === 5 || index === paged.length - 1))
    t.deepEqual(paged.flat(), whole, filter)
    const shown = whole.map(({ created_at }) => created_at)
    t.deepEqual(shown, shown.toSorted().reverse(), filter)
  }
  const none = await pages(account, `${deliveries}?lead_id=${lead}&state=failed&limit=5`, 'deliveries')
  t.deepEqual(none.flat(), [])
})

test('a cursor is good for the filter that gave it, and for no other', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  const { lead_id, next_engagement_id } = await account.submitted()
  await account.report(next_engagement_id, 'event', 'phone_call_missed')
  await receiver.received(2)
  const all = await settledDeliveries(account, webhookId, 2)
  const [newest = '', oldest = ''] = all.map(({ created_at }) => created_at)
  const filters = [
    'state=succeeded',
    `lead_id=${lead_id}`,
    `lead_id=${lead_id}&state=succeeded`,
    `from=${oldest}`,
    `to=${newest}`,
    `from=${oldest}&to=${newest}`,
  ]
  const list = `/webhooks/${webhookId}/deliveries?limit=1`
  for (const given of filters) {
    const cursor = (await account.manage('GET', `${list}&${given}`)).body.next_cursor ?? ''
    for (const filter of filters) {
      const { status } = await account.manage('GET', `${list}&${filter}&cursor=${cursor}`)
      t.is(status, filter === given ? 200 : 400, `${filter} after ${given}`)
    }
  }
})

test('a filter that is wrong is 400 and named', async (t) => {
  const { account, webhookId } = await subscribed(t, site)
  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ['state=open', ['state']],
    ['state=', ['state']],
    ['state=DUE', ['state']],
    ['lead_id=nct_1', ['lead_id']],
    ['from=yesterday', ['from']],
    ['to=2026-02-30', ['to']],
    ['state=x&lead_id=x&from=x&to=x', ['from', 'lead_id', 'state', 'to']],
    ['state=due&limit=0', ['limit']],
    ['state=due&cursor=x', ['cursor']],
  ]
  for (const [query, named] of wrong) {
    const answer = await account.manage('GET', `/webhooks/${webhookId}/deliveries?${query}`)
    t.is(answer.status, 400, query)
    t.deepEqual(namedIn(answer).toSorted(), named, query)
  }
})

/** More than is shown of it, with the token in the middle of what is. */
const said = `I don't like ${hookToken} ${'x'.repeat(2_000)}`

test('each attempt is shown whole: times, status, reason, excerpt, number and the settings it went by', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, quick)
  receiver.answer((n, response) => {
    response.writeHead(n === 1 ? 500 : 201).end(n === 1 ? said : '{"ok":true}')
    return undefined
  })
  const ids = await account.submitted()
  const request = await receiver.receivedOne()
  const change = await account.manage('PATCH', `/webhooks/${webhookId}`, { token: 'hook-token-2' })
  t.is(having(change, 'webhook')['version'], 3, 'added, its secret issued, changed')
  await receiver.received(2)
  const [listed] = await settledDeliveries(account, webhookId, 1)
  t.false('excerpt' in (listed?.['last_outcome'] as object), 'what a receiver said stands in the log alone')
  const { log = [], body, ...delivery } = await deliveryOf(account, webhookId, webhookIdOf(request))
  t.deepEqual(delivery, listed)
  t.regex(delivery.id, /^dlv_/)
  t.regex(delivery.created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  t.like(delivery, {
    id: webhookIdOf(request),
    webhook_id: webhookId,
    contact_id: ids.contact_id,
    lead_id: ids.lead_id,
    engagement_id: ids.next_engagement_id,
    label: 'started',
    state: 'succeeded',
    attempts: 2,
    resend_requested: false,
  })
  t.is(body, request.body.toString('utf8'))

  t.deepEqual(
    log.map(({ type, by }) => [type, by]),
    [
      ['DeliveryDue', 'delivery'],
      ['DeliveryAttemptFailed', 'delivery'],
      ['DeliverySucceeded', 'delivery'],
    ],
  )
  t.false('body' in (log[0] ?? {}), 'the body is shown once')
  const times = log.map(({ at }) => at)
  t.deepEqual(times, times.toSorted())
  const [, failed, succeeded] = log
  t.like(failed?.outcome, { attempt: 1, status: 500, reason: 'status 500', webhook_version: 2 })
  t.like(succeeded?.outcome, { attempt: 2, status: 201, reason: 'delivered', webhook_version: 3 })
  t.is(failed?.outcome?.['excerpt'], said.replace(hookToken, '…').slice(0, 500))
  t.is(succeeded?.outcome?.['excerpt'], '{"ok":true}')
  t.true(String(failed?.['next_attempt_at']) <= String(succeeded?.at))
  for (const outcome of [failed?.outcome, succeeded?.outcome]) {
    const { dns, connect, tls, first_byte, total } = outcome?.['times'] as Readonly<Record<string, number | null>>
    t.is(dns, null, 'an address needs no look-up')
    t.is(tls, null)
    for (const milliseconds of [connect, first_byte, total]) {
      // A pooled connection is not connected anew.
      t.true(milliseconds === null || Number.isInteger(milliseconds), `${String(milliseconds)} ms`)
    }
    t.is(outcome?.['duration_ms'], total)
    t.true((first_byte ?? 0) <= (total ?? -1))
  }
})

test('an attempt without a response has no status and no excerpt, and says why', async (t) => {
  // Not a port that was just closed: a process that begins meanwhile holds a copy of its socket.
  const { account, webhookId } = await subscribed(t, site, { url: 'http://127.0.0.1:9/hook' })
  await account.submitted()
  const delivery = await newestAfter(account, webhookId, 1)
  t.is(delivery['state'], 'due')
  const { log = [] } = await deliveryOf(account, webhookId, delivery.id)
  const outcome = log.at(-1)?.outcome
  t.like(outcome, { attempt: 1, status: null, reason: 'no response (ECONNREFUSED)', webhook_version: 2 })
  t.false('excerpt' in (outcome ?? {}))
  t.like(outcome?.['times'], { first_byte: null })
})

test('a new bearer token counts from the next attempt on, a resend included', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, quick)
  receiver.answer((n) => (n <= 2 ? 500 : 200))
  await account.submitted()
  await receiver.received(1)
  await account.manage('PATCH', `/webhooks/${webhookId}`, { token: 'hook-token-2' })
  await receiver.received(3)
  const [delivery] = await settledDeliveries(account, webhookId, 1)
  await account.manage('PATCH', `/webhooks/${webhookId}`, { token: 'hook-token-3' })
  await account.manage('POST', `/webhooks/${webhookId}/deliveries/${delivery?.id ?? ''}/resend`)
  const requests = await receiver.received(4)
  t.deepEqual(
    requests.map(({ headers }) => headers.authorization),
    [hookToken, 'hook-token-2', 'hook-token-2', 'hook-token-3'].map((token) => `Bearer ${token}`),
  )
  const { log = [] } = await deliveryAfter(account, webhookId, delivery?.id ?? '', 4)
  t.deepEqual(
    log.flatMap(({ outcome }) => outcome?.['webhook_version'] ?? []),
    [2, 3, 3, 4],
  )
})

test('the log names why a webhook was turned off, and since when its delivery failed', async (t) => {
  const { account, webhookId, all } = await ofManyStates(t)
  const failed = all.find(({ state }) => state === 'failed')
  const { log = [] } = await deliveryOf(account, webhookId, failed?.id ?? '')
  t.is(log.length, 20)
  t.deepEqual(
    log.flatMap(({ outcome }) => outcome?.['attempt'] ?? []),
    Array.from({ length: 19 }, (_, n) => n + 1),
  )
  t.like(log.at(-1), { type: 'DeliveryAbandoned', why: 'retries-exhausted', outcome: { attempt: 19, status: 500 } })
  const webhook = await webhookOf(account, webhookId)
  t.like(webhook?.['turned_off'], {
    reason: 'status 500',
    delivery_id: failed?.id,
    failing_since: log.at(-1)?.['failing_since'],
  })
  const held = all.find(({ state }) => state === 'held')
  const ofHeld = (await deliveryOf(account, webhookId, held?.id ?? '')).log ?? []
  t.like(ofHeld.at(-1), { type: 'DeliveryHeld', webhook_version: webhook?.['version'] })
})

test('a list holds no body and nothing that a receiver said', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  receiver.answer((n, response) => {
    response.writeHead(500).end(receiver.requests[n - 1]?.body)
    return undefined
  })
  const phone = newPhone()
  await account.submitted({ phone, last_name: 'Qwertyname' })
  const delivery = await newestAfter(account, webhookId, 1)
  const list = await account.manage('GET', `/webhooks/${webhookId}/deliveries`)
  t.false(list.text.includes('Qwertyname') || list.text.includes(phone))
  const one = await account.manage('GET', `/webhooks/${webhookId}/deliveries/${delivery.id}`)
  t.true(one.text.includes('Qwertyname'))
  t.regex(String(having(one, 'delivery').log?.at(-1)?.outcome?.['excerpt']), /^\{"activity":/)
})

test("a delivery that is unknown, another webhook's or another account's is 404", async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  const other = await openAccount(site)
  const second = await account.addWebhook({ url: (await receiverFor(t)).url, token: 'x', events: ['sold'] })
  const theirs = await other.addWebhook({ url: receiver.url, token: 'x' })
  await account.submitted()
  const id = webhookIdOf(await receiver.receivedOne((request: Received) => labelOf(request) === 'started'))
  t.is((await account.manage('GET', `/webhooks/${webhookId}/deliveries/${id}`)).status, 200)
  const cases = [
    [account, webhookId, `dlv_${'0'.repeat(26)}`, 'delivery not found'],
    [account, webhookId, 'dlv_1', 'delivery not found'],
    [account, webhookId, webhookId, 'delivery not found'],
    [account, second, id, 'delivery not found'],
    [other, theirs, id, 'delivery not found'],
    [other, webhookId, id, 'webhook not found'],
    [account, `whk_${'0'.repeat(26)}`, id, 'webhook not found'],
  ] as const
  for (const [who, webhook, delivery, message] of cases) {
    const answer = await who.manage('GET', `/webhooks/${webhook}/deliveries/${delivery}`)
    t.is(answer.status, 404, `${webhook} ${delivery}`)
    t.deepEqual(answer.body, { message }, `${webhook} ${delivery}`)
  }
})

test('the log of a webhook that was removed can still be read, by its account alone, and nothing of it is resent', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  receiver.answer(() => 500)
  await account.submitted()
  await receiver.received(1)
  t.is((await account.manage('DELETE', `/webhooks/${webhookId}`)).status, 200)
  const [abandoned] = await deliveriesIn(account, webhookId, 'abandoned', 1)
  const path = `/webhooks/${webhookId}/deliveries`
  const { log } = await deliveryOf(account, webhookId, abandoned?.id ?? '')
  t.is(log?.at(-1)?.type, 'DeliveryAbandoned')
  t.is((await account.manage('POST', `${path}/${abandoned?.id}/resend`)).status, 404)
  const other = await openAccount(site)
  t.is((await other.manage('GET', path)).status, 404)
  t.is((await other.manage('GET', `${path}/${abandoned?.id}`)).status, 404)
})
