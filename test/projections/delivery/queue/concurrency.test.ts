import test from 'ava'
import type { WebhookResponse } from '../../../../projections/delivery/webhook-client.js'
import { delivered, openWorker, refused, upTo } from '../../../kit/parts/delivery-stage.js'
import { settled } from '../../../kit/time/turns.js'

test('an endpoint that recovers is not flooded: each failure halves what may be open, each success adds one', async (t) => {
  const answers: Array<(response: WebhookResponse) => void> = []
  const { addWebhook, makeDue, until, sent, close } = await openWorker(
    () => new Promise((resolve) => answers.push(resolve)),
  )
  await addWebhook(1)
  for (const n of upTo(60)) await makeDue(n, 1)
  await until(() => answers.length === 8)
  for (const answer of answers.splice(0)) answer(refused)
  for (const allowed of [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]) {
    await until(() => answers.length === allowed)
    await settled()
    t.is(answers.length, allowed)
    answers.shift()?.(delivered)
  }
  await until(() => answers.length === 8)
  for (const answer of answers.splice(0, 4)) answer(refused)
  await settled()
  t.is(answers.length, 4)
  await until(() => {
    for (const answer of answers.splice(0)) answer(delivered)
    return sent.length === 60
  })
  for (const answer of answers.splice(0)) answer(delivered)
  await close()
})

test('endpoints that are slow leave slots to the others', async (t) => {
  const answered = new Map<string, number>()
  const stuck: Array<(response: WebhookResponse) => void> = []
  let isStuck = true
  const { worker, addWebhook, makeDue, until, state, close } = await openWorker(({ url }) => {
    const nth = (answered.get(url) ?? 0) + 1
    answered.set(url, nth)
    if (url.includes('receiver-21.')) return Promise.resolve(delivered)
    if (nth === 1) return Promise.resolve({ ...delivered, durationMs: 1_500 })
    return isStuck ? new Promise((resolve) => stuck.push(resolve)) : Promise.resolve(delivered)
  })
  for (const n of upTo(21)) await addWebhook(n)
  for (const n of upTo(20)) await makeDue(n, n)
  await until(async () => (await Promise.all(upTo(20).map(state))).every(({ kind }) => kind === 'succeeded'))
  for (const n of upTo(200)) await makeDue(100 + n, 1 + (n % 20))
  await until(() => stuck.length === 128)
  await settled()
  t.is(worker.inFlight(), 128)
  for (const n of upTo(10)) await makeDue(400 + n, 21)
  await until(async () => (await state(410)).kind === 'succeeded')
  isStuck = false
  for (const answer of stuck) answer(delivered)
  await until(async () =>
    (await Promise.all(upTo(200).map((n) => state(100 + n)))).every(({ kind }) => kind === 'succeeded'),
  )
  await close()
})
