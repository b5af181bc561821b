import test, { type ExecutionContext } from 'ava'
import { namedIn, having } from '../kit/network/http.js'
import { labelOf, payloadOf, type Received } from '../kit/network/receiver.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import {
  deliveriesOf,
  settledDeliveries,
  subscribed,
  turned,
  webhookIdOf,
  webhookOf,
  type Subscription,
  deliveriesIn,
  deliveryOf,
  longestDelivery,
} from '../kit/service/subscription.js'
import { until, sleep } from '../kit/time/until.js'
import { openAccount } from '../kit/service/account.js'
import { mostAttempts } from '../../domain/retry-schedule.js'

/** Four days pass in a third of a second. */
const rushing = serviceForFile({ clockRate: 1_000_000 })

type Off = Subscription & { readonly engagementId: string; readonly turnOffAttempts: number }

/** A webhook that `started` has turned off, by its last failed attempt; from then on the receiver answers 200. */
const turnedOff = async (t: ExecutionContext): Promise<Off> => {
  const subscription = await subscribed(t, rushing)
  const { account, receiver, webhookId } = subscription
  receiver.answer(() => 500)
  const { next_engagement_id: engagementId } = await account.submitted()
  await receiver.received(mostAttempts)
  await turned(account, webhookId, 'off')
  receiver.answer(() => 200)
  return { ...subscription, engagementId, turnOffAttempts: mostAttempts }
}

const shownOf = (request: Received): string =>
  `${labelOf(request) ?? ''} ${payloadOf(request).activity?.next_engagement_id ?? ''}`

test('turned on to catch up, a webhook gets what was held, and what turned it off', async (t) => {
  const { account, receiver, webhookId, engagementId, turnOffAttempts } = await turnedOff(t)
  await account.report(engagementId, 'event', 'interested')
  const later = await account.submitted()
  const waiting = await settledDeliveries(account, webhookId, 3)
  t.deepEqual(waiting.map(({ state }) => state).sort(), ['failed', 'held', 'held'])

  const answer = await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  t.is(answer.status, 200)
  t.like(having(answer, 'webhook'), { id: webhookId, state: 'on' })
  const caughtUp = (await receiver.received(turnOffAttempts + 3)).slice(turnOffAttempts)
  const expected = [`started ${later.next_engagement_id}`, `started ${engagementId}`, `interested ${engagementId}`]
  t.deepEqual(caughtUp.map(shownOf).sort(), expected.toSorted())
  t.is(caughtUp.map(shownOf)[0], expected[0], 'the newest lead comes first')
  const all = await settledDeliveries(account, webhookId, 3)
  t.deepEqual([...new Set(all.map(({ state }) => state))], ['succeeded'])
  const attempts = Object.fromEntries(
    all.map((one) => [`${String(one['label'])} ${String(one['engagement_id'])}`, one]),
  )
  t.is(attempts[`started ${engagementId}`]?.['attempts'], mostAttempts + 1, 'attempts are numbered on')
  t.is(attempts[`interested ${engagementId}`]?.['attempts'], 1)

  const shown = await webhookOf(account, webhookId)
  t.like(shown, { state: 'on', turned_off: null, turned_on: { by: 'operator', catch_up: true } })
})

test('what is caught up with goes newest lead first, and of one lead what happened first', async (t) => {
  const { account, receiver, webhookId, engagementId, turnOffAttempts } = await turnedOff(t)
  const oldestFirst = [engagementId]
  for (let n = 0; n < 24; n += 1) {
    // Leads of one millisecond are equally new.
    await sleep(2)
    oldestFirst.push((await account.submitted()).next_engagement_id)
  }
  await account.report(engagementId, 'event', 'interested')
  await settledDeliveries(account, webhookId, 26)
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  const caughtUp = (await receiver.received(turnOffAttempts + 26)).slice(turnOffAttempts)
  const expected = [...oldestFirst.toReversed().map((id) => `started ${id}`), `interested ${engagementId}`]
  const arrived = caughtUp.map(shownOf)
  // Up to eight are open at once, and overtake each other.
  const displaced = expected.filter((one, index) => Math.abs(arrived.indexOf(one) - index) > 7)
  t.deepEqual(displaced, [])
  t.deepEqual(arrived.toSorted(), expected.toSorted())
})

test('new activity goes out while the backlog is caught up with, before what is left of it', async (t) => {
  const { account, receiver, webhookId, engagementId, turnOffAttempts } = await turnedOff(t)
  for (let n = 0; n < 11; n += 1) await account.report(engagementId, 'event', 'phone_call_missed')
  await settledDeliveries(account, webhookId, 12)
  let answerFirst = (): void => undefined
  receiver.answer((n, response) => {
    if (n !== turnOffAttempts + 1) return 200
    answerFirst = () => void response.writeHead(200).end()
    return undefined
  })
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  await receiver.received(turnOffAttempts + 1)
  await account.report(engagementId, 'event', 'phone_call_received')
  await until(
    'the new activity is due',
    longestDelivery,
    () => deliveriesOf(account, webhookId, '&state=due'),
    (due) => due.some(({ label }) => label === 'phone_call_received'),
  )
  answerFirst()
  const requests = (await receiver.received(turnOffAttempts + 13)).slice(turnOffAttempts)
  const place = requests.findIndex((request) => labelOf(request) === 'phone_call_received')
  // Beside it, one more may be open by then.
  t.true(place === 1 || place === 2, `it came at place ${place}`)
  const all = await settledDeliveries(account, webhookId, 13)
  t.true(all.every(({ state }) => state === 'succeeded'))
})

test('turned on to skip, a webhook never gets what was held, and the log says who chose so', async (t) => {
  const { account, receiver, webhookId, engagementId, turnOffAttempts } = await turnedOff(t)
  await account.report(engagementId, 'event', 'interested')
  await settledDeliveries(account, webhookId, 2)
  const answer = await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: false })
  t.is(answer.status, 200)
  t.is(having(answer, 'webhook')['state'], 'on')
  const skipped = await deliveriesIn(account, webhookId, 'skipped', 2)
  t.deepEqual(
    skipped.map(({ label, state }) => [label, state]),
    [
      ['interested', 'skipped'],
      ['started', 'skipped'],
    ],
  )
  for (const { id } of skipped) {
    const { log = [] } = await deliveryOf(account, webhookId, id)
    t.like(log.at(-1), { type: 'DeliverySkipped', chosen_by: 'operator' })
  }
  t.like((await webhookOf(account, webhookId))?.['turned_on'], { by: 'operator', catch_up: false })

  await account.report(engagementId, 'event', 'phone_call_received')
  const next = (await receiver.received(turnOffAttempts + 1))[turnOffAttempts] as Received
  t.is(labelOf(next), 'phone_call_received')
  await settledDeliveries(account, webhookId, 3)
  t.is(receiver.requests.length, turnOffAttempts + 1)
})

test('what is caught up with has all its attempts again, and may turn the webhook off once more', async (t) => {
  const { account, receiver, webhookId, turnOffAttempts } = await turnedOff(t)
  receiver.answer(() => 503)
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  const requests = await receiver.received(turnOffAttempts + mostAttempts)
  const off = await turned(account, webhookId, 'off')
  t.like(off?.['turned_off'], { reason: 'status 503' })
  t.is(new Set(requests.map(webhookIdOf)).size, 1)
  const [failed] = await settledDeliveries(account, webhookId, 1)
  t.like(failed, { state: 'failed', attempts: 2 * mostAttempts })
  t.is(receiver.requests.length, turnOffAttempts + mostAttempts)

  receiver.answer(() => 200)
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  await receiver.received(turnOffAttempts + mostAttempts + 1)
  const [delivered] = await settledDeliveries(account, webhookId, 1)
  t.like(delivered, { state: 'succeeded', attempts: 2 * mostAttempts + 1 })
})

test('what was skipped stays skipped when the webhook is turned off and on again', async (t) => {
  const { account, receiver, webhookId, engagementId, turnOffAttempts } = await turnedOff(t)
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: false })
  await deliveriesIn(account, webhookId, 'skipped', 1)
  receiver.answer(() => 500)
  await account.report(engagementId, 'event', 'interested')
  await receiver.received(turnOffAttempts + mostAttempts)
  await turned(account, webhookId, 'off')
  receiver.answer(() => 200)
  await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
  await receiver.received(turnOffAttempts + mostAttempts + 1)
  const all = await settledDeliveries(account, webhookId, 2)
  t.deepEqual(
    all.map(({ label, state }) => [label, state]),
    [
      ['interested', 'succeeded'],
      ['started', 'skipped'],
    ],
  )
  t.is(receiver.requests.length, turnOffAttempts + mostAttempts + 1)
})

test('turning on a webhook that is on changes nothing', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  await account.submitted()
  await receiver.received(1)
  await settledDeliveries(account, webhookId, 1)
  const before = await webhookOf(account, webhookId)
  for (const catch_up of [true, false]) {
    const answer = await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up })
    t.is(answer.status, 200)
    t.like(having(answer, 'webhook'), { id: webhookId, state: 'on' })
  }
  t.deepEqual(await webhookOf(account, webhookId), before)
  t.is(before?.['turned_on'], null)
  t.is(receiver.requests.length, 1)
})

test('a wrong body is 400 and names the field, and the webhook stays off', async (t) => {
  const { account, webhookId, turnOffAttempts, receiver } = await turnedOff(t)
  const path = `/webhooks/${webhookId}/turn_on`
  for (const body of [{}, { catch_up: null }, { catch_up: 'true' }, { catch_up: 1 }, { catchUp: true }]) {
    const answer = await account.manage('POST', path, body)
    t.is(answer.status, 400, JSON.stringify(body))
    t.deepEqual(namedIn(answer), ['catch_up'], JSON.stringify(body))
  }
  for (const body of [undefined, [], 'true']) {
    t.is((await account.manage('POST', path, body)).status, 400, JSON.stringify(body))
  }
  t.is((await webhookOf(account, webhookId))?.['state'], 'off')
  t.is(receiver.requests.length, turnOffAttempts)
})

test('an unknown webhook, a removed one and that of another account are 404', async (t) => {
  const { account, webhookId } = await subscribed(t, rushing)
  const other = await openAccount(rushing)
  for (const id of [`whk_${'0'.repeat(26)}`, 'whk_1', account.id, '%00']) {
    const answer = await account.manage('POST', `/webhooks/${id}/turn_on`, { catch_up: true })
    t.is(answer.status, 404, id)
    t.deepEqual(answer.body, { message: 'webhook not found' }, id)
  }
  t.is((await other.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })).status, 404)
  await account.manage('DELETE', `/webhooks/${webhookId}`)
  t.is((await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })).status, 404)
})
