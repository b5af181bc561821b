import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import type { Clock } from '../../../domain/ports.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import { later, millisecondsOf, type Instant } from '../../../domain/instant.js'
import { mostRequests } from '../../../projections/delivery/queue/concurrency.js'
import type { WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { webhookShards } from '../../../projections/delivery/webhook-shards.js'
import {
  delivered,
  numberOf,
  openStage,
  openWorker,
  refused,
  turnOff,
  turnOn,
  upTo,
  type Answer,
} from '../../kit/parts/delivery-stage.js'
import { accountId, at, deliveryId, resendId, webhookId } from '../../kit/domain/samples.js'
import { reachable } from '../../kit/parts/reachable.js'
import { settled, isOver } from '../../kit/time/turns.js'

test('what is due is posted once, with the token and the exact body, and recorded', async (t) => {
  const { addWebhook, makeDue, until, state, sent, close } = await openWorker(() => Promise.resolve(delivered))
  await addWebhook(1)
  await makeDue(1, 1)
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 1)
  t.like(sent[0], { url: 'http://receiver-1.example/', token: 'token-1', body: '{"n":1}', id: deliveryId(1) })
  await close()
})

test('a failing delivery is tried as often as its schedule says, never early, always with the same bytes and id', async (t) => {
  const at: Array<number> = []
  const harness = await openWorker(() => {
    at.push(millisecondsOf(harness.clock.now()))
    return Promise.resolve(refused)
  })
  const { addWebhook, makeDue, until, state, sent, clock, close } = harness
  await addWebhook(1)
  await makeDue(1, 1)
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    await until(() => sent.length === attempt)
    if (attempt < mostAttempts) await until(() => clock.toNextTimer())
  }
  await until(async () => (await state(1)).kind === 'failed')
  t.is(sent.length, mostAttempts)
  t.is(new Set(sent.map(({ body, id }) => `${id} ${body}`)).size, 1)
  const waits = at.slice(1).map((time, index) => (time - (at[index] ?? 0)) / 1000)
  // Before retry n: (n-1)^4 + 15 seconds, and half of a jitter of 10·n.
  t.deepEqual(
    waits,
    waits.map((_, index) => index ** 4 + 15 + 5 * (index + 1)),
  )
  await close()
})

test('a receiver that never answers keeps no other waiting, and has eight requests open at most', async (t) => {
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

test('while the store takes no outcome a webhook gets 32 requests, and another one eight besides', async (t) => {
  let take = (): void => undefined
  const taken = new Promise<void>((resolve) => (take = resolve))
  const stage = await openStage((store) => ({
    ...store,
    append: async (stream, expected, ...rest) => {
      if (stream.startsWith('delivery-') && expected !== 'no-stream') await taken
      return store.append(stream, expected, ...rest)
    },
  }))
  t.teardown(stage.close)
  const { addWebhook, makeDue, until, state } = stage
  const { sent, follow, holdAll } = stage.openWorker(() => Promise.resolve(delivered))
  const sentTo = (n: number): number => sent.filter(({ url }) => url.includes(`receiver-${n}`)).length
  await addWebhook(1)
  await addWebhook(2)
  stage.project()
  follow()
  holdAll()
  for (const n of upTo(50)) await makeDue(n, 1)
  await until(() => sentTo(1) === 32)
  for (const n of upTo(10)) await makeDue(50 + n, 2)
  await until(() => sentTo(2) === 8)
  await settled()
  t.deepEqual([sentTo(1), sentTo(2)], [32, 8])
  take()
  for (const n of upTo(60)) await until(async () => (await state(n)).kind === 'succeeded')
  t.deepEqual([sentTo(1), sentTo(2)], [50, 10])
})

test('first attempts and retries that are due take turns', async (t) => {
  const answers: Array<() => void> = []
  const { caughtUp, addWebhook, makeDue, until, sent, clock, close } = await openWorker((request) => {
    const n = numberOf(request)
    if (n <= 12) return Promise.resolve(sent.length <= 12 ? refused : delivered)
    return n > 200 ? new Promise((resolve) => answers.push(() => resolve(delivered))) : Promise.resolve(delivered)
  })
  await addWebhook(1)
  for (let n = 1; n <= 12; n += 1) await makeDue(n, 1)
  await until(() => sent.length === 12)
  // After so many failures only one request at a time is open to the webhook.
  await makeDue(201, 1)
  await until(() => answers.length === 1)
  // While it is open, retries and first attempts become due together.
  await until(() => clock.toNextTimer())
  for (let n = 101; n <= 112; n += 1) await makeDue(n, 1)
  await caughtUp()
  for (const answer of answers) answer()
  await until(() => sent.length === 37)
  // They are begun by turns. As many as may be open at once can overtake each other before they are posted.
  let ahead = 0
  for (const request of sent.slice(13)) {
    ahead += numberOf(request) > 100 ? 1 : -1
    t.true(Math.abs(ahead) <= mostRequests)
  }
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

/** Counts the timers of a worker that something still refers to, whether they have ended or not. */
const countTimers = (clock: Pick<Clock, 'sleepUntil'>): (() => Promise<number>) => {
  const { watch, count } = reachable()
  const { sleepUntil } = clock
  Object.assign(clock, {
    sleepUntil: (instant: Instant, signal: AbortSignal) => {
      watch(signal)
      return sleepUntil(instant, signal)
    },
  })
  return count
}

test('of webhooks that come and go nothing is left in the memory of the worker, nor a timer', async (t) => {
  const harness = await openWorker(() => Promise.resolve(refused))
  const { addWebhook, change, makeDue, until, state, sent, clock, close } = harness
  const count = countTimers(clock)
  for (const n of upTo(10)) {
    await addWebhook(n)
    await makeDue(n, n)
    await until(() => sent.length === n)
    await settled()
    await change(n, { type: 'RemoveWebhook', accountId: accountId() })
    await until(async () => (await state(n)).kind === 'abandoned')
  }
  await until(async () => (await count()) === 0)
  t.false(clock.toNextTimer())
  // What comes late is given up as before.
  await makeDue(11, 1)
  await until(async () => (await state(11)).kind === 'abandoned')
  t.is(sent.length, 10)
  await close()
})

test('of a webhook that is removed in the midst of a bulk resend nothing is left in memory once that has ended', async (t) => {
  let complete: (() => void) | undefined
  const stage = await openStage((store) => ({
    ...store,
    append: async (stream, expected, events) => {
      if (events.some(({ type }) => type === 'ResendCompleted'))
        await new Promise<void>((resolve) => (complete = resolve))
      return store.append(stream, expected, events)
    },
  }))
  const { sent, follow, holdAll } = stage.openWorker(() => Promise.resolve(refused))
  const { addWebhook, change, makeDue, resend, resendState, until, state, project, clock, close } = stage
  const count = countTimers(clock)
  project()
  follow()
  holdAll()
  await addWebhook(1)
  await makeDue(1, 1)
  await until(() => sent.length === 1)
  const period = { from: at(), to: at(1_000) }
  const ids = { resendId: resendId(), accountId: accountId(), webhookId: webhookId(1) }
  await resend(1, { type: 'StartResend', ...ids, ...period })
  await until(() => complete !== undefined)
  await change(1, { type: 'RemoveWebhook', accountId: accountId() })
  await until(async () => (await state(1)).kind === 'abandoned')
  await settled()
  complete?.()
  await until(async () => (await resendState(1)) === 'completed')
  await until(async () => (await count()) === 0)
  t.false(clock.toNextTimer())
  await close()
})

test('only the webhooks of the shards that the worker holds are posted to', async (t) => {
  const stage = await openStage()
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = stage
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  t.not(webhookShards.of(webhookId(1)), webhookShards.of(webhookId(2)))
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

test('a worker that takes over a shard while deliveries come in misses none of them', async (t) => {
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

test('whoever loses a lease begins and records nothing more, and the next holder posts what is due', async (t) => {
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
  t.is(first.worker.inFlight(), 0)
  for (let n = 1; n <= 20; n += 1) t.like(await state(n), { kind: 'due', attempts: 0 })

  second.hold(1)
  await until(async () => (await Promise.all([1, 8, 9, 20].map(state))).every(({ kind }) => kind === 'succeeded'))
  await until(() => second.sent.length === 20)
  t.is(first.sent.length, 8)
  await close()
})

test('at a takeover no more requests are open to a webhook than one holder may have', async (t) => {
  const { addWebhook, makeDue, until, project, openWorker: open, close } = await openStage()
  let requests = 0
  let most = 0
  const silent: Answer = (_, signal) =>
    new Promise((resolve) => {
      requests += 1
      most = Math.max(most, requests)
      signal.addEventListener('abort', () => {
        requests -= 1
        resolve(refused)
      })
    })
  const [first, second] = [open(silent), open(silent)]
  project()
  await addWebhook(1)
  for (let n = 1; n <= 20; n += 1) await makeDue(n, 1)
  first.follow()
  second.follow()
  const lease = first.hold(1)
  await until(() => first.sent.length === 8)
  lease.expire()
  const next = second.hold(1)
  await until(() => second.sent.length === 8)
  t.is(most, 8)
  await lease.done
  next.expire()
  await next.done
  t.is(requests, 0)
  await close()
})

test('whoever gives a lease back begins nothing more, and records what was in flight', async (t) => {
  const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
  const answers: Array<(response: WebhookResponse) => void> = []
  const signals: Array<AbortSignal> = []
  const {
    sent,
    follow: begin,
    hold,
  } = open((_, signal) => {
    signals.push(signal)
    return new Promise((resolve) => answers.push(resolve))
  })
  project()
  await addWebhook(1)
  for (let n = 1; n <= 20; n += 1) await makeDue(n, 1)
  begin()
  const lease = hold(1)
  await until(() => answers.length === 8)
  lease.recall()
  t.false(await isOver(lease.done))
  t.true(
    signals.every(({ aborted }) => !aborted),
    'no request is broken off',
  )
  for (const answer of answers) answer(delivered)
  await lease.done
  t.is(sent.length, 8)
  const kinds = await Promise.all(Array.from({ length: 20 }, async (_, n) => (await state(n + 1)).kind))
  t.is(kinds.filter((kind) => kind === 'succeeded').length, 8)
  t.is(kinds.filter((kind) => kind === 'due').length, 12)
  await close()
})

test('an attempt whose lease is lost before its request is sent is not made', async (t) => {
  for (const way of ['expire', 'recall'] as const) {
    const { addWebhook, makeDue, until, state, project, openWorker: open, close } = await openStage()
    let looks = 0
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
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
    release()
    await lease.done
    t.deepEqual(sent, [], way)
    t.like(await state(1), { kind: 'due', attempts: 0 })
    await close()
  }
})

test('what became due before the worker began is posted once the read model shows it', async (t) => {
  const { addWebhook, makeDue, until, state, project, showOnce, openWorker: open, close } = await openStage()
  await addWebhook(1)
  await showOnce()
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

test('what became due before the worker took over a shard is posted once the read model shows it', async (t) => {
  const { addWebhook, makeDue, until, state, project, showOnce, openWorker: open, close } = await openStage()
  await addWebhook(1)
  await showOnce()
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

test('a shard that was lost and is taken over again is worked on as before', async (t) => {
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

test('a retry that the read model does not show yet when the worker begins is made once it does', async (t) => {
  const stage = await openStage()
  const { clock, addWebhook, makeDue, tell, until, state, project, showOnce, openWorker: open, close } = stage
  await addWebhook(1)
  await showOnce()
  await makeDue(1, 1)
  const outcome = { attempt: 1, status: 503, reason: 'status 503', duration_ms: 1 }
  await tell(1, { type: 'RecordAttempt', delivered: false, outcome, nextAttemptAt: clock.now() })
  const { sent, follow, hold } = open(() => Promise.resolve(delivered))
  follow()
  hold(1)
  await settled()
  t.deepEqual(sent, [])
  project()
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 1)
  await close()
})

test('a retry never comes early, even where the read model lags behind the attempt of another worker', async (t) => {
  const stage = await openStage()
  const { clock, addWebhook, makeDue, until, state, project, showOnce, openWorker: open, close } = stage
  await addWebhook(1)
  await makeDue(1, 1)
  await showOnce()
  // From now on the read model does not change: it shows a first attempt that is due.
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
  await until(() => clock.toNextTimer())
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(second.sent.length, 1)
  t.is(first.sent.length, 1)
  await close()
})

test('whoever takes over a shard finds what was requested and held before, however late the read model shows it', async (t) => {
  const stage = await openStage()
  const { addWebhook, change, makeDue, tell, until, state, project, showOnce, openWorker: open, close } = stage
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
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
  await showOnce()
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

test('a retry waits while the clock is set back, and comes when it is due', async (t) => {
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
  // Another delivery makes the worker fill the queue at the earlier time.
  await makeDue(2, 1)
  await until(async () => (await state(2)).kind === 'succeeded')
  t.is(times.length, 2)
  await until(() => clock.toNextTimer())
  await until(async () => (await state(1)).kind === 'succeeded')
  t.true((times[2] ?? 0) >= (times[0] ?? 0) + 20_000)
  await close()
})

for (const [what, answer, expected] of [
  ['succeeds', delivered, { kind: 'succeeded', attempts: mostAttempts }],
  ['fails', refused, { kind: 'due', attempts: mostAttempts }],
] as const) {
  test(`the last attempt of a schedule that ${what} after its webhook went off and on abandons nothing`, async (t) => {
    const answers = new Map<number, (response: WebhookResponse) => void>()
    const stage = await openStage()
    const { addWebhook, change, makeDue, failAttempts, until, state, events, project, close } = stage
    const {
      sent,
      follow: begin,
      holdAll,
    } = stage.openWorker((request) => {
      const n = numberOf(request)
      return answers.has(n) ? Promise.resolve(delivered) : new Promise((resolve) => answers.set(n, resolve))
    })
    const isLastAttempt = ({ data }: DomainEvent) => 'outcome' in data && data.outcome?.attempt === mostAttempts
    const abandoned = async () => (await events()).filter(({ type }) => type === 'DeliveryAbandoned').length
    await addWebhook(1)
    for (const n of [1, 2]) {
      await makeDue(n, 1)
      await failAttempts(n, mostAttempts - 1)
    }
    project()
    begin()
    holdAll()
    await until(() => answers.size === 2)
    answers.get(1)?.(refused)
    await until(async () => (await abandoned()) === 1)
    await change(1, turnOff)
    await until(async () => (await state(2)).kind === 'held')
    await change(1, turnOn(true))
    await until(async () => (await state(1)).kind === 'succeeded' && (await state(2)).kind === 'due')
    answers.get(2)?.(answer)
    await until(async () => (await events()).filter(isLastAttempt).length === 2)
    t.like(await state(2), expected)
    t.is(await abandoned(), 1)
    t.is(sent.length, 3)
    await close()
  })
}
