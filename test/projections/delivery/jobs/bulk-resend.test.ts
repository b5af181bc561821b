import test from 'ava'
import type { ResendCommand } from '../../../../domain/resend.js'
import type { WebhookResponse } from '../../../../projections/delivery/sender.js'
import {
  delivered,
  numberOf,
  openStage,
  openWorker,
  refused,
  turnOff,
  upTo,
} from '../../../kit/parts/delivery-stage.js'
import { accountId, at, resendId, webhookId } from '../../../kit/domain/samples.js'
import { settled } from '../../../kit/time/turns.js'

const startAll: ResendCommand = {
  type: 'StartResend',
  resendId: resendId(),
  accountId: accountId(),
  webhookId: webhookId(),
  from: at(),
  to: at(1_000),
}

test('a bulk resend posts each failed delivery once, whatever becomes of it, and is complete then', async (t) => {
  const harness = await openWorker((request) => Promise.resolve(numberOf(request) % 2 === 0 ? delivered : refused))
  const { addWebhook, change, makeDue, exhaust, resend, resendState, until, state, events, sent, close } = harness
  await addWebhook(1)
  await change(1, turnOff)
  for (const n of upTo(40)) {
    await makeDue(n, 1, 2)
    await exhaust(n)
  }
  await makeDue(41, 1, 2)
  await resend(1, startAll)
  await until(async () => (await resendState(1)) === 'completed')
  t.deepEqual(
    sent.map(numberOf).toSorted((one, other) => one - other),
    upTo(40),
  )
  t.is((await events()).at(-1)?.type, 'ResendCompleted')
  for (const n of upTo(40)) t.is((await state(n)).kind, n % 2 === 0 ? 'succeeded' : 'failed')
  await close()
})

test('a bulk resend that is cancelled requests no more resends, and those that it requested are posted', async (t) => {
  const answers: Array<(response: WebhookResponse) => void> = []
  const harness = await openWorker(() => new Promise((resolve) => answers.push(resolve)))
  const { addWebhook, change, makeDue, exhaust, resend, resendState, until, events, sent, close } = harness
  await addWebhook(1)
  await change(1, turnOff)
  for (const n of upTo(40)) {
    await makeDue(n, 1, 2)
    await exhaust(n)
  }
  await resend(1, startAll)
  await until(() => answers.length === 8)
  await resend(1, { type: 'CancelResend', webhookId: webhookId() })
  const resent = async (): Promise<number> => (await events()).filter(({ type }) => type === 'DeliveryResent').length
  await until(async () => {
    for (const answer of answers.splice(0)) answer(delivered)
    return (await resent()) === 32
  })
  await settled()
  t.is(sent.length, 32)
  t.is(await resent(), 32)
  t.is(await resendState(1), 'cancelled')
  await close()
})

test('a bulk resend that begins before the read model shows all that failed leaves none of it out', async (t) => {
  const stage = await openStage()
  const { addWebhook, change, makeDue, exhaust, resend, resendState, until, project, openWorker: open, close } = stage
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  const stop = project()
  await addWebhook(1)
  await change(1, turnOff)
  await stop()
  await makeDue(1, 1, 2)
  await exhaust(1)
  await resend(1, startAll)
  hold(1)
  begin()
  await settled()
  t.is(await resendState(1), 'running')
  project()
  await until(async () => (await resendState(1)) === 'completed')
  t.is(sent.length, 1)
  await close()
})
