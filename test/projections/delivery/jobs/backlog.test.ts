import test from 'ava'
import { later, millisecondsOf } from '../../../../domain/instant.js'
import type { ResendCommand } from '../../../../domain/resend.js'
import type { WebhookCommand } from '../../../../domain/webhook.js'
import type { WebhookResponse } from '../../../../projections/delivery/sender.js'
import { delivered, openStage, openWorker, refused, settled, turnOff } from '../../../kit/delivery-stage.js'
import { rightOf } from '../../../kit/right-of.js'
import { accountId, at, resendId, webhookId } from '../../../kit/samples.js'

const turnOn = (catchUp: boolean, by = 'somebody'): WebhookCommand => ({
  type: 'TurnOnWebhook',
  accountId: accountId(),
  catchUp,
  by,
})

const numberOf = ({ body }: { readonly body: string }): number => Number(body.slice(5, -1))

const upTo = (last: number): ReadonlyArray<number> => Array.from({ length: last }, (_, n) => n + 1)

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
    clock.toNextAlarm()
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
  const { addWebhook, change, makeDue, exhaust, until, state, events, sent, close } = await openWorker(() =>
    Promise.resolve(delivered),
  )
  await addWebhook(1)
  await change(1, turnOff)
  await makeDue(1, 1, 2)
  await makeDue(2, 1, 2)
  await exhaust(2)
  await change(1, turnOn(false, 'Grace'))
  await until(async () => (await state(1)).kind === 'skipped' && (await state(2)).kind === 'skipped')
  const skipped = (await events()).flatMap((event) => (event.type === 'DeliverySkipped' ? [event.data.chosen_by] : []))
  t.deepEqual(skipped, ['Grace', 'Grace'])
  t.deepEqual(sent, [])
  await close()
})

test('what is held late, by somebody who did not know yet that the webhook was turned on, is taken up too', async (t) => {
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

test('what is resent goes to a webhook that is off too, which stays off', async (t) => {
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

test('what is wanted once more while an attempt of it is under way is posted once more after it', async (t) => {
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

test('what is wanted once more is posted however late the read model shows it', async (t) => {
  const answers: Array<() => void> = []
  const {
    addWebhook,
    makeDue,
    tell,
    until,
    state,
    project,
    store,
    projected,
    openWorker: open,
    close,
  } = await openStage()
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
  await projected.caughtUpTo(rightOf(await store.head()), new AbortController().signal)
  await stop()
  await tell(1, { type: 'RequestResend', resendId: null, dueAt: at() })
  await settled()
  // The lane is looked at meanwhile.
  answers[0]?.()
  await until(async () => (await state(2)).kind === 'succeeded')
  await settled()
  t.is(sent.length, 2)
  project()
  await until(() => sent.length === 3)
  t.is(numberOf(sent[2] ?? { body: '' }), 1)
  await close()
})

test('whoever takes a share finds what was asked for and held before, however late the read model shows it', async (t) => {
  const stage = await openStage()
  const { addWebhook, change, makeDue, tell, until, state, project, store, projected, openWorker: open, close } = stage
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  const stop = project()
  await addWebhook(1)
  await change(1, turnOff)
  await change(1, turnOn(true))
  await makeDue(1, 1)
  await tell(1, {
    type: 'RecordAttempt',
    delivered: true,
    outcome: { attempt: 1, status: 200, reason: 'delivered', duration_ms: 1 },
    nextAttemptAt: at(),
  })
  await projected.caughtUpTo(rightOf(await store.head()), new AbortController().signal)
  await stop()
  begin()
  await settled()
  await makeDue(2, 1, 2)
  await tell(1, { type: 'RequestResend', resendId: null, dueAt: at() })
  await settled()
  hold(1)
  await settled()
  t.deepEqual(sent, [])
  project()
  await until(async () => (await state(2)).kind === 'succeeded')
  await until(() => sent.length === 2)
  t.deepEqual(sent.map(numberOf).toSorted(), [1, 2])
  await close()
})

const startAll: ResendCommand = {
  type: 'StartResend',
  resendId: resendId(),
  accountId: accountId(),
  webhookId: webhookId(),
  from: at(),
  to: at(1_000),
}

test('a resend of all that failed posts each once, whatever becomes of it, and is complete then', async (t) => {
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

test('a resend that is cancelled takes up no more, and posts what it took up', async (t) => {
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

test('a resend that begins before the read model shows all that failed leaves none of it out', async (t) => {
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

test('endpoints that are slow leave room for the others', async (t) => {
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
  t.is(worker.open(), 128)
  for (const n of upTo(10)) await makeDue(400 + n, 21)
  await until(async () => (await state(410)).kind === 'succeeded')
  isStuck = false
  for (const answer of stuck) answer(delivered)
  await until(async () =>
    (await Promise.all(upTo(200).map((n) => state(100 + n)))).every(({ kind }) => kind === 'succeeded'),
  )
  await close()
})

test('while the clock goes back a retry waits, and comes when it is due', async (t) => {
  const times: Array<number> = []
  const harness = await openWorker(() => {
    times.push(millisecondsOf(harness.clock.now()))
    return Promise.resolve(times.length === 1 ? refused : delivered)
  })
  const { addWebhook, makeDue, until, state, clock, close } = harness
  await addWebhook(1)
  await makeDue(1, 1)
  await until(async () => {
    const now = await state(1)
    return now.kind === 'due' && now.attempts === 1
  })
  await settled()
  clock.set(later(clock.now(), -3_600_000))
  await settled()
  // Something else is looked at, at the earlier time.
  await makeDue(2, 1)
  await until(async () => (await state(2)).kind === 'succeeded')
  t.is(times.length, 2)
  await until(() => clock.toNextAlarm())
  await until(async () => (await state(1)).kind === 'succeeded')
  t.true((times[2] ?? 0) >= (times[0] ?? 0) + 20_000)
  await close()
})
