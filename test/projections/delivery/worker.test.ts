import test from 'ava'
import { maximalAttempts } from '../../../domain/delivery.js'
import { millisecondsOf } from '../../../domain/instant.js'
import type { WebhookResponse } from '../../../projections/delivery/sender.js'
import { shardOf } from '../../../projections/delivery/shards.js'
import { delivered, openStage, openWorker, refused, settled, turnOff } from '../../kit/delivery-stage.js'
import { rightOf } from '../../kit/right-of.js'
import { accountId, deliveryId, webhookId } from '../../kit/samples.js'

test('what is due is posted once, with the token and the exact body, and recorded', async (t) => {
  const { addWebhook, makeDue, until, state, sent, close } = await openWorker(() => Promise.resolve(delivered))
  await addWebhook(1)
  await makeDue(1, 1)
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 1)
  t.like(sent[0], { url: 'http://receiver-1.example/', token: 'token-1', body: '{"n":1}', id: deliveryId(1) })
  await close()
})

test('a failing delivery is tried nineteen times, never early, always with the same bytes and id', async (t) => {
  const at: Array<number> = []
  const harness = await openWorker(() => {
    at.push(millisecondsOf(harness.clock.now()))
    return Promise.resolve(refused)
  })
  const { addWebhook, makeDue, until, state, sent, clock, close } = harness
  await addWebhook(1)
  await makeDue(1, 1)
  for (let attempt = 1; attempt <= maximalAttempts; attempt += 1) {
    await until(() => sent.length === attempt)
    if (attempt < maximalAttempts) await until(() => clock.toNextAlarm())
  }
  await until(async () => (await state(1)).kind === 'failed')
  t.is(sent.length, 19)
  t.is(new Set(sent.map(({ body, id }) => `${id} ${body}`)).size, 1)
  const waits = at.slice(1).map((time, index) => (time - (at[index] ?? 0)) / 1000)
  // Before retry n: (n-1)^4 + 15 seconds, and here half of a jitter of 10·n (design, section 5).
  t.deepEqual(
    waits,
    waits.map((_, index) => index ** 4 + 15 + 5 * (index + 1)),
  )
  await close()
})

test('a receiver that never answers keeps no other waiting, and holds eight requests at most', async (t) => {
  const stuck: Array<(response: WebhookResponse) => void> = []
  const { addWebhook, makeDue, until, sent, state, close } = await openWorker((request) =>
    request.url.includes('receiver-1') ? new Promise((resolve) => stuck.push(resolve)) : Promise.resolve(delivered),
  )
  await addWebhook(1)
  await addWebhook(2)
  for (let n = 1; n <= 30; n += 1) await makeDue(n, 1)
  await until(() => stuck.length === 8)
  for (let n = 31; n <= 60; n += 1) await makeDue(n, 2)
  await until(async () => (await state(60)).kind === 'succeeded')
  await until(() => sent.filter(({ url }) => url.includes('receiver-2')).length === 30)
  t.is(sent.filter(({ url }) => url.includes('receiver-1')).length, 8)
  for (const answer of stuck) answer(delivered)
  await until(() => stuck.length === 16)
  for (const answer of stuck) answer(delivered)
  await until(() => stuck.length === 24)
  for (const answer of stuck) answer(delivered)
  await until(() => stuck.length === 30)
  for (const answer of stuck) answer(delivered)
  await until(async () => (await state(30)).kind === 'succeeded')
  await close()
})

test('first attempts go before retries', async (t) => {
  const answers: Array<() => void> = []
  const { store, projected, addWebhook, makeDue, until, sent, clock, close } = await openWorker((request) => {
    const n = Number(request.body.slice(5, -1))
    if (n <= 12) return Promise.resolve(sent.length <= 12 ? refused : delivered)
    return n > 200 ? new Promise((resolve) => answers.push(() => resolve(delivered))) : Promise.resolve(delivered)
  })
  await addWebhook(1)
  for (let n = 1; n <= 12; n += 1) await makeDue(n, 1)
  await until(() => sent.length === 12)
  // After so many failures one request at a time is open to it.
  await makeDue(201, 1)
  await until(() => answers.length === 1)
  // While it is, retries and first attempts come due together.
  await until(() => clock.toNextAlarm())
  for (let n = 101; n <= 112; n += 1) await makeDue(n, 1)
  await projected.caughtUpTo(rightOf(await store.head()), new AbortController().signal)
  for (const answer of answers) answer()
  await until(() => sent.length === 37)
  const order = sent.slice(13).map(({ body }) => (Number(body.slice(5, -1)) > 100 ? 'first' : 'retry'))
  t.deepEqual(order, [...Array.from({ length: 12 }, () => 'first'), ...Array.from({ length: 12 }, () => 'retry')])
  await close()
})

test('while its webhook is off a delivery is held, and when it is removed it is abandoned: neither is posted', async (t) => {
  const { addWebhook, change, makeDue, until, state, sent, close } = await openWorker(() => Promise.resolve(delivered))
  await addWebhook(1)
  await addWebhook(2)
  await change(1, turnOff)
  await change(2, { type: 'RemoveWebhook', accountId: accountId() })
  await makeDue(1, 1)
  await makeDue(2, 2)
  await until(async () => (await state(1)).kind === 'held' && (await state(2)).kind === 'abandoned')
  t.deepEqual(sent, [])
  await close()
})

test('only the webhooks of the shares that are held are posted to', async (t) => {
  const stage = await openStage()
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = stage
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  t.not(shardOf(webhookId(1)), shardOf(webhookId(2)))
  project()
  await addWebhook(1)
  await addWebhook(2)
  await makeDue(1, 1)
  await makeDue(2, 2)
  begin()
  await settled()
  t.deepEqual(sent, [])
  hold(1)
  await until(async () => (await state(1)).kind === 'succeeded')
  await makeDue(3, 2)
  await settled()
  t.deepEqual(
    sent.map(({ url }) => url),
    ['http://receiver-1.example/'],
  )
  hold(2)
  await until(async () => (await state(2)).kind === 'succeeded' && (await state(3)).kind === 'succeeded')
  t.is(sent.length, 3)
  await close()
})

test('a share that is taken while deliveries come in misses none of them', async (t) => {
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  project()
  await addWebhook(1)
  begin()
  const due = Array.from({ length: 40 }, (_, n) => n + 1)
  for (const n of due) {
    await makeDue(n, 1)
    if (n === 20) hold(1)
  }
  await until(async () => (await Promise.all(due.map(state))).every(({ kind }) => kind === 'succeeded'))
  t.deepEqual(sent.map(({ id }) => id).toSorted(), due.map(deliveryId))
  await close()
})

test('a lost lease begins nothing more and records nothing more, and the next holder posts what is due', async (t) => {
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
  const answers: Array<(response: WebhookResponse) => void> = []
  const first = open(() => new Promise((resolve) => answers.push(resolve)))
  const second = open(() => Promise.resolve(delivered))
  project()
  await addWebhook(1)
  for (let n = 1; n <= 20; n += 1) await makeDue(n, 1)
  first.follow()
  second.follow()
  const lease = first.hold(1)
  await until(() => answers.length === 8)
  lease.expire()
  await settled()
  for (const answer of answers) answer(delivered)
  await lease.done
  await settled()
  t.is(first.sent.length, 8)
  t.is(first.worker.open(), 0)
  for (let n = 1; n <= 20; n += 1) t.like(await state(n), { kind: 'due', attempts: 0 })

  second.hold(1)
  await until(async () => (await Promise.all([1, 8, 9, 20].map(state))).every(({ kind }) => kind === 'succeeded'))
  await until(() => second.sent.length === 20)
  t.is(first.sent.length, 8)
  await close()
})

test('a lease that is given back begins nothing more, and records what was under way', async (t) => {
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
  const answers: Array<(response: WebhookResponse) => void> = []
  const { sent, follow: begin, hold } = open(() => new Promise((resolve) => answers.push(resolve)))
  project()
  await addWebhook(1)
  for (let n = 1; n <= 20; n += 1) await makeDue(n, 1)
  begin()
  const lease = hold(1)
  await until(() => answers.length === 8)
  let isDone = false
  void lease.done.then(() => (isDone = true))
  lease.recall()
  await settled()
  t.false(isDone)
  for (const answer of answers) answer(delivered)
  await lease.done
  t.is(sent.length, 8)
  const kinds = await Promise.all(Array.from({ length: 20 }, async (_, n) => (await state(n + 1)).kind))
  t.is(kinds.filter((kind) => kind === 'succeeded').length, 8)
  t.is(kinds.filter((kind) => kind === 'due').length, 12)
  await close()
})

test('an attempt whose lease is lost before its request is out is not made', async (t) => {
  for (const way of ['expire', 'recall'] as const) {
    const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
    let looks = 0
    let goOn = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const {
      sent,
      follow: begin,
      hold,
    } = open(
      () => Promise.resolve(delivered),
      () => {
        looks += 1
        return gate
      },
    )
    project()
    await addWebhook(1)
    await makeDue(1, 1)
    begin()
    const lease = hold(1)
    await until(() => looks === 1)
    lease[way]()
    goOn()
    await lease.done
    t.deepEqual(sent, [], way)
    t.like(await state(1), { kind: 'due', attempts: 0 })
    await close()
  }
})

test('what became due before the worker began is posted once the read model shows it', async (t) => {
  const { store, addWebhook, makeDue, until, state, project, projected, openWorker: open, close } = await openStage()
  const stop = project()
  await addWebhook(1)
  await projected.caughtUpTo(rightOf(await store.head()), new AbortController().signal)
  await stop()
  await makeDue(1, 1)
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  begin()
  hold(1)
  await settled()
  t.deepEqual(sent, [])
  project()
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 1)
  await close()
})

test('what became due before a share was taken is posted once the read model shows it', async (t) => {
  const { store, addWebhook, makeDue, until, state, project, projected, openWorker: open, close } = await openStage()
  const stop = project()
  await addWebhook(1)
  await projected.caughtUpTo(rightOf(await store.head()), new AbortController().signal)
  await stop()
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  begin()
  await makeDue(1, 1)
  await settled()
  hold(1)
  await settled()
  t.deepEqual(sent, [])
  project()
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 1)
  await close()
})

test('a share that was lost and is taken again is worked on as before', async (t) => {
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  project()
  await addWebhook(1)
  begin()
  for (const n of [1, 3, 5]) {
    const lease = hold(1)
    await makeDue(n, 1)
    await until(async () => (await state(n)).kind === 'succeeded')
    lease.expire()
    await lease.done
    await makeDue(n + 1, 1)
    await settled()
    t.is(sent.length, n)
  }
  hold(1)
  await until(async () => (await state(6)).kind === 'succeeded')
  t.is(sent.length, 6)
  await close()
})

test('a read model that lags behind an attempt of another worker brings no early one', async (t) => {
  const stage = await openStage()
  const { store, clock, addWebhook, makeDue, until, state, project, projected, openWorker: open, close } = stage
  const stop = project()
  await addWebhook(1)
  await makeDue(1, 1)
  await projected.caughtUpTo(rightOf(await store.head()), new AbortController().signal)
  await stop()
  // From now on the read model shows a first attempt that is due.
  const first = open(() => Promise.resolve(refused))
  first.follow()
  const lease = first.hold(1)
  await until(async () => {
    const now = await state(1)
    return now.kind === 'due' && now.attempts === 1
  })
  lease.recall()
  await lease.done

  const second = open(() => Promise.resolve(delivered))
  second.follow()
  second.hold(1)
  await settled()
  t.deepEqual(second.sent, [])
  project()
  await settled()
  t.deepEqual(second.sent, [])
  await until(() => clock.toNextAlarm())
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(second.sent.length, 1)
  t.is(first.sent.length, 1)
  await close()
})
