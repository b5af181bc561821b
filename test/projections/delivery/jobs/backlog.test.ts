import test from 'ava'
import { millisecondsOf } from '../../../../domain/instant.js'
import type { WebhookResponse } from '../../../../projections/delivery/webhook-client.js'
import { delivered, numberOf, openWorker, refused, turnOff, turnOn, upTo } from '../../../kit/parts/delivery-stage.js'
import { accountId, at } from '../../../kit/domain/samples.js'
import { settled } from '../../../kit/time/turns.js'

test('a webhook that is turned on gets what it missed, the newest lead first, at no more than fifty a second', async (t) => {
  const times: Array<number> = []
  const harness = await openWorker(() => {
    times.push(millisecondsOf(harness.clock.now()))
    return Promise.resolve(delivered)
  })
  const { addWebhook, change, makeDue, until, sent, clock, close } = harness
  await addWebhook(1)
  await change(1, turnOff)
  // The newest leads are neither the first nor the last that became due.
  for (const n of upTo(100)) await makeDue(n, 1, 2, { lead_submitted_at: at(((n * 37) % 101) * 1_000) })
  await change(1, turnOn(true))
  await until(() => sent.length === 32)
  await settled()
  t.is(sent.length, 32)
  await until(() => {
    clock.toNextTimer()
    return sent.length === 100
  })
  t.deepEqual(
    sent.map(numberOf),
    upTo(100).toSorted((one, other) => ((other * 37) % 101) - ((one * 37) % 101)),
  )
  for (const [n, time] of times.entries()) t.true(n < 32 + ((time - (times[0] ?? 0)) * 50) / 1_000)
  await close()
})

test('what is skipped is recorded with who chose it, and is not posted', async (t) => {
  const { addWebhook, change, makeDue, failAttempts, until, state, events, sent, close } = await openWorker(() =>
    Promise.resolve(delivered),
  )
  await addWebhook(1)
  await change(1, turnOff)
  await makeDue(1, 1, 2)
  await makeDue(2, 1, 2)
  await failAttempts(2)
  await change(1, turnOn(false, 'Grace'))
  await until(async () => (await state(1)).kind === 'skipped' && (await state(2)).kind === 'skipped')
  const skipped = (await events()).flatMap((event) => (event.type === 'DeliverySkipped' ? [event.data.chosen_by] : []))
  t.deepEqual(skipped, ['Grace', 'Grace'])
  t.deepEqual(sent, [])
  await close()
})

test('a delivery that is held late, after its webhook was turned on, is caught up with or skipped too', async (t) => {
  const { addWebhook, change, makeDue, until, state, sent, close } = await openWorker(() => Promise.resolve(delivered))
  await addWebhook(1)
  await addWebhook(2)
  for (const [n, catchUp] of [
    [1, true],
    [2, false],
  ] as const) {
    await change(n, turnOff)
    await change(n, turnOn(catchUp))
    await settled()
    await makeDue(n, n, 2)
  }
  await until(async () => (await state(1)).kind === 'succeeded' && (await state(2)).kind === 'skipped')
  t.is(sent.length, 1)
  await close()
})

test('what a webhook takes while it is removed is recorded as delivered, and what fails then is abandoned', async (t) => {
  const answers: Array<(response: WebhookResponse) => void> = []
  const { addWebhook, change, makeDue, until, state, events, sent, close } = await openWorker(
    () => new Promise((resolve) => answers.push(resolve)),
  )
  await addWebhook(1)
  await makeDue(1, 1)
  await makeDue(2, 1)
  await until(() => sent.length === 2)
  await change(1, { type: 'RemoveWebhook', accountId: accountId() })
  await settled()
  for (const [index, answer] of answers.entries())
    answer(numberOf(sent[index] ?? { body: '' }) === 1 ? delivered : refused)
  await until(async () => (await state(1)).kind === 'succeeded' && (await state(2)).kind === 'abandoned')
  const outcomes = (await events()).flatMap((event) =>
    event.type === 'DeliverySucceeded' || event.type === 'DeliveryAttemptFailed' ? [event.data.outcome.attempt] : [],
  )
  t.deepEqual(outcomes, [1, 1])
  await close()
})
