import test from 'ava'
import { Webhook } from 'standardwebhooks'
import { activityLabels } from '../../domain/activity.js'
import { having } from '../kit/network/http.js'
import type { Receiver } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { hookToken, subscribed } from '../kit/service/subscription.js'

const site = serviceForFile()

const bodyOf = (receiver: Receiver): unknown => JSON.parse(receiver.requests[0]?.body.toString('utf8') ?? 'null')

test('a test posts one sample with the token and says that it was delivered (contract 6.5)', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site)
  const { status, body } = await account.manage('POST', `/webhooks/${webhook.id}/test`)
  t.is(status, 200)
  t.deepEqual(body, { delivered: true, status: 200, error: null })
  t.is(receiver.requests.length, 1)
  t.is(receiver.requests[0]?.headers.authorization, `Bearer ${hookToken}`)
  t.like(bodyOf(receiver), {
    activity: {
      type: 'event',
      label: 'started',
      next_engagement_id: null,
      created_at: null,
      updated_at: null,
      properties: { test: true },
    },
    contact: { first_name: 'Test', last_name: 'Contact', created_at: null },
  })
})

test('the sample has the first event picked, and the fields of any payload (contract 6.2 and 6.5)', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site, { events: ['custom_conversion', 'sold'] })
  await account.manage('POST', `/webhooks/${webhook.id}/test`)
  const sample = bodyOf(receiver) as Record<'activity' | 'contact', Record<string, unknown>>
  t.like(sample, { activity: { type: 'conversion', label: 'custom_conversion', properties: { test: true } } })
  await account.submitted()
  const sale = await account.addConversion('Renewed', 100)
  const { contact_id } = await account.submitted()
  await account.record(sale, { contact_id })
  const [, real] = await receiver.received(2)
  const payload = JSON.parse(real?.body.toString('utf8') ?? 'null') as typeof sample
  for (const part of ['activity', 'contact'] as const) {
    t.deepEqual(Object.keys(sample[part]), Object.keys(payload[part]), part)
  }
})

test('the sample has started where every event was picked one by one, as where none was (contract 6.5)', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site, { events: activityLabels.toReversed() })
  await account.manage('POST', `/webhooks/${webhook.id}/test`)
  t.like(bodyOf(receiver), { activity: { type: 'event', label: 'started' } })
})

test('the flat format is tested in its own shape (contract 6.3)', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site, { format: 'flat', events: ['sold'] })
  await account.manage('POST', `/webhooks/${webhook.id}/test`)
  t.deepEqual(bodyOf(receiver), { activity_type: 'conversion', activity_label: 'sold', lead_originators: [] })
})

test('a test is signed like any request', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site)
  await account.manage('POST', `/webhooks/${webhook.id}/test`)
  const [request] = receiver.requests
  const headers = request?.headers as Record<string, string>
  t.notThrows(() =>
    new Webhook(String(webhook['signing_secret'])).verify(request?.body.toString('utf8') ?? '', headers),
  )
})

test('a test that fails says why, is not retried and leaves nothing behind (contract 6.5)', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site)
  receiver.answer(() => 503)
  const { status, body } = await account.manage('POST', `/webhooks/${webhook.id}/test`)
  t.is(status, 200)
  t.like(body, { delivered: false, status: 503, error: 'status 503' })
  t.is(receiver.requests.length, 1)
  const listed = having(await account.manage('GET', `/webhooks/${webhook.id}/deliveries`), 'deliveries')
  t.deepEqual(listed, [])
  const [shown] = having(await account.manage('GET', '/webhooks'), 'webhooks')
  t.is(shown?.['state'], 'on')
})

test('tests are limited in rate, and a webhook of another account can not be tested', async (t) => {
  const { account, webhook } = await subscribed(t, site)
  const path = `/webhooks/${webhook.id}/test`
  const answers: Array<number> = []
  for (let n = 0; n < 21; n += 1) answers.push((await account.manage('POST', path)).status)
  t.true(answers.includes(429), answers.join())
  t.is(answers[0], 200)
  const other = await openAccount(site)
  t.is((await other.manage('POST', path)).status, 404)
})
