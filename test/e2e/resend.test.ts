import test from 'ava'
import { namedIn, type Managed, having } from '../kit/network/http.js'
import { minutesAgo, withPast } from '../kit/service/past-deliveries.js'
import { type Received, receiverFor } from '../kit/network/receiver.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import {
  deliveriesOf,
  settledDeliveries,
  subscribed,
  turned,
  webhookIdOf,
  webhookOf,
  deliveriesIn,
  deliveryAfter,
  deliveryOf,
  longestDelivery,
  newestAfter,
} from '../kit/service/subscription.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { until } from '../kit/time/until.js'
import { nobody } from '../kit/domain/samples.js'
import { mostAttempts } from '../../domain/retry-schedule.js'

const site = serviceForFile()
/** Four days pass in a third of a second. */
const rushing = serviceForFile({ clockRate: 1_000_000 })
/** Fifteen seconds pass in four hours: no retry comes between. */
const unhurried = serviceForFile({ clockRate: 0.001 })

const resend = (account: Account, webhookId: string, id: string) =>
  account.manage('POST', `/webhooks/${webhookId}/deliveries/${id}/resend`)

test('what succeeded is posted once more: the same bytes, the same webhook-id', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  await account.submitted({ first_name: 'Zoë' })
  await receiver.received(1)
  const { id } = await newestAfter(account, webhookId, 1)
  const answer = await resend(account, webhookId, id)
  t.is(answer.status, 202)
  t.deepEqual(having(answer, 'delivery') as unknown, { id, state: 'succeeded' })
  const [first, second] = (await receiver.received(2)) as [Received, Received]
  t.deepEqual(second.body, first.body)
  t.is(webhookIdOf(second), webhookIdOf(first))
  t.is(second.headers.authorization, first.headers.authorization)
  t.like(await newestAfter(account, webhookId, 2), { state: 'succeeded', resend_requested: false })
  const { log = [] } = await deliveryOf(account, webhookId, id)
  t.deepEqual(
    log.map(({ type, by }) => [type, by]),
    [
      ['DeliveryDue', 'delivery'],
      ['DeliverySucceeded', 'delivery'],
      ['DeliveryResendRequested', 'operator'],
      ['DeliveryResent', 'delivery'],
    ],
  )
  t.like(log.at(-1), { resend_id: null, delivered: true, outcome: { attempt: 2, status: 200 } })
})

test('what waits for its retry is posted at once, and done with when that succeeds', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  receiver.answer((n) => (n === 1 ? 500 : 200))
  await account.submitted()
  const { id } = await newestAfter(account, webhookId, 1)
  const answer = await resend(account, webhookId, id)
  t.deepEqual(having(answer, 'delivery') as unknown, { id, state: 'due' })
  await receiver.received(2)
  const delivery = await newestAfter(account, webhookId, 2)
  t.is(delivery['state'], 'succeeded')
  t.false('next_attempt_at' in delivery)
})

test('resends that fail leave the schedule as it was, and count for nothing', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, unhurried)
  receiver.answer(() => 500)
  await account.submitted()
  const before = await newestAfter(account, webhookId, 1)
  for (let n = 2; n <= 21; n += 1) {
    await resend(account, webhookId, before.id)
    await newestAfter(account, webhookId, n)
  }
  const after = await newestAfter(account, webhookId, 21)
  t.like(after, { state: 'due', attempts: 21, next_attempt_at: before['next_attempt_at'] })
  t.is((await webhookOf(account, webhookId))?.['state'], 'on')
  t.is(receiver.requests.length, 21)
})

test('a resend that fails is not retried, and never turns the webhook off', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  await account.submitted()
  const { id } = await newestAfter(account, webhookId, 1)
  receiver.answer(() => 500)
  for (let n = 2; n <= 26; n += 1) {
    await resend(account, webhookId, id)
    await newestAfter(account, webhookId, n)
  }
  t.is(receiver.requests.length, 26)
  const { state, log = [] } = await deliveryOf(account, webhookId, id)
  t.is(state, 'succeeded', 'it was delivered once')
  t.is(log.filter(({ type, delivered }) => type === 'DeliveryResent' && delivered === false).length, 25)
  t.is((await webhookOf(account, webhookId))?.['state'], 'on')
})

test('a webhook that is off gets what is resent: the one that failed, one that is held, and no other', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  receiver.answer(() => 500)
  const { next_engagement_id } = await account.submitted()
  await receiver.received(mostAttempts)
  await turned(account, webhookId, 'off')
  await account.report(next_engagement_id, 'event', 'interested')
  await account.report(next_engagement_id, 'event', 'phone_call_missed')
  const all = await settledDeliveries(account, webhookId, 3)
  const idOf = (wanted: string): string => all.find(({ label }) => label === wanted)?.id ?? 'none'

  t.is((await resend(account, webhookId, idOf('started'))).status, 202)
  await deliveryAfter(account, webhookId, idOf('started'), mostAttempts + 1)
  receiver.answer(() => 200)
  for (const label of ['started', 'interested']) {
    const { state } = having(await resend(account, webhookId, idOf(label)), 'delivery')
    t.is(state, label === 'started' ? 'failed' : 'held')
  }
  await receiver.received(mostAttempts + 3)
  await deliveriesIn(account, webhookId, 'succeeded', 2)
  t.deepEqual(
    (await deliveriesOf(account, webhookId)).map(({ label, state }) => [label, state]),
    [
      ['phone_call_missed', 'held'],
      ['interested', 'succeeded'],
      ['started', 'succeeded'],
    ],
  )
  t.is((await webhookOf(account, webhookId))?.['state'], 'off')
  t.is(receiver.requests.length, mostAttempts + 3)

  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  await receiver.received(mostAttempts + 4)
  await settledDeliveries(account, webhookId, 3)
  t.is(receiver.requests.length, mostAttempts + 4, 'what was delivered meanwhile is not caught up with')
})

test('what was skipped can still be resent', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  receiver.answer((n) => (n <= mostAttempts ? 500 : 200))
  await account.submitted()
  await receiver.received(mostAttempts)
  await turned(account, webhookId, 'off')
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: false })
  const [skipped] = await deliveriesIn(account, webhookId, 'skipped', 1)
  const { state } = having(await resend(account, webhookId, skipped?.id ?? ''), 'delivery')
  t.is(state, 'skipped')
  await receiver.received(20)
  t.is((await newestAfter(account, webhookId, 20))['state'], 'succeeded')
})

for (const [status, state] of [
  [200, 'succeeded'],
  [500, 'due'],
] as const) {
  test(`a resend that is asked for while an attempt is in flight follows it: ${status}`, async (t) => {
    const { account, receiver, webhookId } = await subscribed(t, site)
    let answerFirst = (): void => undefined
    receiver.answer((n, response) => {
      if (n > 1) return status
      answerFirst = () => void response.writeHead(status).end()
      return undefined
    })
    const { next_engagement_id } = await account.submitted()
    await receiver.received(1)
    const { id } = await newestAfter(account, webhookId, 0)
    await resend(account, webhookId, id)
    await account.report(next_engagement_id, 'event', 'interested')
    // The worker learned of this one after it had learned of the resend.
    await receiver.received(2)
    answerFirst()
    await receiver.received(3)
    t.like(await deliveryAfter(account, webhookId, id, 2), { state, resend_requested: false })
  })
}

test('one resend that waits serves everybody who asks meanwhile', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  await account.submitted()
  const { id } = await newestAfter(account, webhookId, 1)
  let answerSecond = (): void => undefined
  receiver.answer((_n, response) => {
    answerSecond = () => void response.writeHead(200).end()
    return undefined
  })
  await resend(account, webhookId, id)
  await receiver.received(2)
  t.is((await deliveryOf(account, webhookId, id))['resend_requested'], true)
  for (let n = 0; n < 3; n += 1) t.is((await resend(account, webhookId, id)).status, 202)
  receiver.answer(() => 200)
  answerSecond()
  await newestAfter(account, webhookId, 2)
  await resend(account, webhookId, id)
  await newestAfter(account, webhookId, 3)
  t.is(receiver.requests.length, 3)
})

test("a resend of a delivery that is unknown, another webhook's or another account's is 404", async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  const other = await openAccount(site)
  const second = await account.addWebhook({ url: (await receiverFor(t)).url, token: 'x', events: ['sold'] })
  const theirs = await other.addWebhook({ url: receiver.url, token: 'x' })
  await account.submitted()
  const { id } = await newestAfter(account, webhookId, 1)
  for (const unknown of [nobody('dlv'), 'dlv_1', webhookId, '%00']) {
    const answer = await resend(account, webhookId, unknown)
    t.is(answer.status, 404, unknown)
    t.deepEqual(answer.body, { message: 'delivery not found' }, unknown)
  }
  t.deepEqual((await resend(account, second, id)).body, { message: 'delivery not found' })
  t.deepEqual((await resend(other, theirs, id)).body, { message: 'delivery not found' })
  t.deepEqual((await resend(other, webhookId, id)).body, { message: 'webhook not found' })
  t.deepEqual((await resend(account, nobody('whk'), id)).body, { message: 'webhook not found' })
  t.is(receiver.requests.length, 1)
})

const startResend = async (account: Account, webhookId: string, from: string, to: string): Promise<string> => {
  const answer = await account.manage('POST', `/webhooks/${webhookId}/resends`, { from, to })
  if (answer.status !== 202) throw new Error(`${answer.status}: ${answer.text}`)
  return having(answer, 'resend').id
}

const resendOf = async (account: Account, webhookId: string, id: string): Promise<Managed> =>
  having(await account.manage('GET', `/webhooks/${webhookId}/resends/${id}`), 'resend')

const ended = (account: Account, webhookId: string, id: string): Promise<Managed> =>
  until(
    'the resend has ended',
    longestDelivery,
    () => resendOf(account, webhookId, id),
    ({ state, requested, delivered, failed }) =>
      state !== 'running' && Number(requested) === Number(delivered) + Number(failed),
  )

const exhausted = (minutes: number) => ({ at: minutesAgo(minutes), attempts: mostAttempts })

test('a resend of many posts each failed delivery of its period exactly once, and tells how far it is', async (t) => {
  const inPeriod = Array.from({ length: 40 }, (_, n) => exhausted(100 - n))
  const { account, receiver, webhookId, deliveryIds } = await withPast(t, [
    ...inPeriod,
    exhausted(200),
    exhausted(20),
    { at: minutesAgo(80), attempts: 3 },
  ])
  await turned(account, webhookId, 'off')
  await deliveriesIn(account, webhookId, 'held', 1)
  const before = receiver.requests.length
  const refused = new Set<string>()
  receiver.answer((n) => {
    if (n % 3 !== 0) return 200
    refused.add(webhookIdOf(receiver.requests[n - 1] as Received))
    return 500
  })
  const [from, to] = [inPeriod[0]?.at ?? '', inPeriod.at(-1)?.at ?? '']
  const asked = await account.manage('POST', `/webhooks/${webhookId}/resends`, { from, to })
  t.is(asked.status, 202)
  const { id } = having(asked, 'resend')
  t.regex(id, /^rsd_/)
  t.deepEqual(having(asked, 'resend') as unknown, { id, webhook_id: webhookId, from, to, state: 'running' })

  const done = await ended(account, webhookId, id)
  t.like(done, { id, webhook_id: webhookId, from, to, state: 'completed', requested: 40 })
  t.like(done, { delivered: 40 - refused.size, failed: refused.size })
  t.regex(String(done['ended_at']), /Z$/)
  const posted = receiver.requests.slice(before).map(webhookIdOf)
  t.deepEqual(posted.toSorted(), deliveryIds.slice(0, 40).toSorted())
  t.is((await webhookOf(account, webhookId))?.['state'], 'off')

  receiver.answer(() => 200)
  const again = await startResend(account, webhookId, from, to)
  t.like(await ended(account, webhookId, again), { requested: refused.size, delivered: refused.size, failed: 0 })
  const repeated = receiver.requests.slice(before + 40).map(webhookIdOf)
  t.deepEqual(repeated.toSorted(), [...refused].sort())

  const none = await startResend(account, webhookId, from, to)
  t.like(await ended(account, webhookId, none), { state: 'completed', requested: 0, delivered: 0, failed: 0 })
  const listed = having(await account.manage('GET', `/webhooks/${webhookId}/resends`), 'resends')
  t.deepEqual(
    listed.map((one) => one.id),
    [none, again, id],
  )
  t.deepEqual(listed.at(-1), done)
  const { log = [] } = await deliveryOf(account, webhookId, deliveryIds[0] ?? '')
  t.is(log.find(({ type }) => type === 'DeliveryResendRequested')?.['resend_id'], id)
})

test('a resend of many that is cancelled requests no more, and what it requested is still posted', async (t) => {
  const past = Array.from({ length: 70 }, (_, n) => exhausted(100 - n))
  const { account, receiver, webhookId } = await withPast(t, past)
  await turned(account, webhookId, 'off')
  const held: Array<() => void> = []
  receiver.answer((_n, response) => {
    held.push(() => void response.writeHead(200).end())
    return undefined
  })
  const id = await startResend(account, webhookId, minutesAgo(1_000), minutesAgo(0))
  await receiver.received(8)
  await until(
    'requests are made as far as the limit allows',
    longestDelivery,
    () => resendOf(account, webhookId, id),
    ({ requested }) => requested === 32,
  )
  const path = `/webhooks/${webhookId}/resends/${id}/cancel`
  const answer = await account.manage('POST', path)
  t.is(answer.status, 200)
  t.deepEqual(having(answer, 'resend') as unknown, { id, state: 'cancelled' })
  receiver.answer(() => 200)
  for (const answerOne of held) answerOne()
  const done = await ended(account, webhookId, id)
  t.like(done, { state: 'cancelled', requested: 32, delivered: 32, failed: 0 })
  t.is((await deliveriesIn(account, webhookId, 'failed', 38)).length, 38)
  t.is(receiver.requests.length, 32)
  t.deepEqual(having(await account.manage('POST', path), 'resend') as unknown, { id, state: 'cancelled' })

  const rest = await startResend(account, webhookId, minutesAgo(1_000), minutesAgo(0))
  t.like(await ended(account, webhookId, rest), { state: 'completed', requested: 38, delivered: 38 })
  const late = await account.manage('POST', `/webhooks/${webhookId}/resends/${rest}/cancel`)
  t.deepEqual(having(late, 'resend') as unknown, { id: rest, state: 'completed' })
  t.is(new Set(receiver.requests.map(webhookIdOf)).size, 70)
  t.is(receiver.requests.length, 70)
})

test('a wrong period is 400 and names what is wrong with it', async (t) => {
  const { account, webhookId } = await subscribed(t, site)
  const at = '2026-01-15T12:00:00.000Z'
  const wrong: ReadonlyArray<readonly [unknown, ReadonlyArray<string>]> = [
    [{}, ['from', 'to']],
    [{ from: at }, ['to']],
    [{ from: null, to: at }, ['from']],
    [{ from: 'yesterday', to: 5 }, ['from', 'to']],
    [{ from: '2026-02-30', to: at }, ['from']],
    [{ from: at, to: '2026-01-15T11:59:59.999Z' }, ['to']],
  ]
  for (const [body, named] of wrong) {
    const answer = await account.manage('POST', `/webhooks/${webhookId}/resends`, body)
    t.is(answer.status, 400, JSON.stringify(body))
    t.deepEqual(namedIn(answer).toSorted(), named, JSON.stringify(body))
  }
  t.deepEqual(having(await account.manage('GET', `/webhooks/${webhookId}/resends`), 'resends'), [])
  const offset = await account.manage('POST', `/webhooks/${webhookId}/resends`, {
    from: '2026-01-15T14:00:00+02:00',
    to: at,
  })
  t.like(having(offset, 'resend'), { from: at, to: at })
})

test("a resend that is unknown, another webhook's or another account's is 404", async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, site)
  const other = await openAccount(site)
  const second = await account.addWebhook({ url: receiver.url, token: 'x' })
  const id = await startResend(account, webhookId, '2026-01-01', '2026-01-02')
  for (const unknown of [nobody('rsd'), 'rsd_1', webhookId, '%00']) {
    for (const [method, path] of [
      ['GET', unknown],
      ['POST', `${unknown}/cancel`],
    ] as const) {
      const answer = await account.manage(method, `/webhooks/${webhookId}/resends/${path}`)
      t.is(answer.status, 404, path)
      t.deepEqual(answer.body, { message: 'resend not found' }, path)
    }
  }
  const period = { from: '2026-01-01', to: '2026-01-02' }
  for (const [who, webhook, message] of [
    [account, second, 'resend not found'],
    [account, nobody('whk'), 'webhook not found'],
    [other, webhookId, 'webhook not found'],
  ] as const) {
    t.deepEqual((await who.manage('GET', `/webhooks/${webhook}/resends/${id}`)).body, { message })
    t.deepEqual((await who.manage('POST', `/webhooks/${webhook}/resends/${id}/cancel`)).body, { message })
  }
  for (const webhook of [webhookId, nobody('whk')]) {
    t.is((await other.manage('POST', `/webhooks/${webhook}/resends`, period)).status, 404)
    t.is((await other.manage('GET', `/webhooks/${webhook}/resends`)).status, 404)
  }
})
