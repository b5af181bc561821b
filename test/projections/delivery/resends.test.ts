import test from 'ava'
import type { WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { delivered, numberOf, openStage, openWorker, refused, turnOff } from '../../kit/parts/delivery-stage.js'
import { at } from '../../kit/domain/samples.js'
import { settled } from '../../kit/time/turns.js'

test('a resend goes to a webhook that is off too, which stays off', async (t) => {
  const { addWebhook, change, makeDue, tell, until, state, events, sent, close } = await openWorker(() =>
    Promise.resolve(sent.length === 1 ? refused : delivered),
  )
  await addWebhook(1)
  await change(1, turnOff)
  await makeDue(1, 1, 2)
  await settled()
  t.deepEqual(sent, [])
  for (const n of [1, 2]) {
    await tell(1, { type: 'RequestResend', resendId: null, dueAt: at() })
    await until(async () => (await events()).filter(({ type }) => type === 'DeliveryResent').length === n)
    t.is((await state(1)).kind, n === 1 ? 'held' : 'succeeded')
  }
  t.is(sent.length, 2)
  t.false((await events()).some(({ type }) => type === 'WebhookTurnedOn'))
  await close()
})

test('a resend that is requested while an attempt of the delivery is in flight is posted after it', async (t) => {
  const answers: Array<(response: WebhookResponse) => void> = []
  const { addWebhook, makeDue, tell, until, state, events, sent, close } = await openWorker(
    () => new Promise((resolve) => answers.push(resolve)),
  )
  await addWebhook(1)
  await makeDue(1, 1)
  await until(() => answers.length === 1)
  await tell(1, { type: 'RequestResend', resendId: null, dueAt: at() })
  await settled()
  t.is(sent.length, 1)
  answers[0]?.(delivered)
  await until(() => answers.length === 2)
  answers[1]?.(delivered)
  await until(async () => (await events()).some(({ type }) => type === 'DeliveryResent'))
  t.like(await state(1), { kind: 'succeeded', attempts: 2, resend: undefined })
  await close()
})

test('a resend is posted however late the read model shows that it was requested', async (t) => {
  const answers: Array<() => void> = []
  const { addWebhook, makeDue, tell, until, state, project, caughtUp, openWorker: open, close } = await openStage()
  const {
    sent,
    follow: begin,
    hold,
  } = open((request) =>
    numberOf(request) === 1
      ? Promise.resolve(delivered)
      : new Promise((resolve) => answers.push(() => resolve(delivered))),
  )
  const stop = project()
  await addWebhook(1)
  begin()
  hold(1)
  await makeDue(1, 1)
  await until(async () => (await state(1)).kind === 'succeeded')
  await makeDue(2, 1)
  await until(() => answers.length === 1)
  await caughtUp()
  await stop()
  await tell(1, { type: 'RequestResend', resendId: null, dueAt: at() })
  await settled()
  // The end of another attempt makes the worker fill the queue meanwhile.
  answers[0]?.()
  await until(async () => (await state(2)).kind === 'succeeded')
  await settled()
  t.is(sent.length, 2)
  project()
  await until(() => sent.length === 3)
  t.is(numberOf(sent[2] ?? { body: '' }), 1)
  await close()
})
