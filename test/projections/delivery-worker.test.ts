import test from 'ava'
import { performance } from 'node:perf_hooks'
import { sqliteDocuments } from '../../adapters/documents/sqlite.js'
import { sqliteEventStore } from '../../adapters/event-store/sqlite.js'
import { randomIds } from '../../adapters/ids.js'
import { aloneMembership } from '../../adapters/leases/alone.js'
import type { SqliteDatabase } from '../../adapters/sqlite/database.js'
import { aesVault } from '../../adapters/vault.js'
import { dispatcher } from '../../app/dispatch.js'
import { keptStreams } from '../../app/kept-streams.js'
import { delivery, maximalAttempts } from '../../domain/delivery.js'
import { millisecondsOf } from '../../domain/instant.js'
import { webhook } from '../../domain/webhook.js'
import { deliveries } from '../../projections/deliveries.js'
import type { WebhookRequest, WebhookResponse } from '../../projections/delivery/sender.js'
import { shares } from '../../projections/delivery/shares.js'
import { deliveryWorker } from '../../projections/delivery/worker.js'
import { follow } from '../../projections/follower.js'
import { anyProjection } from '../../projections/projection.js'
import { runProjection } from '../../projections/runner.js'
import { manualClock } from '../support/manual-clock.js'
import { openSqlite } from '../support/open-sqlite.js'
import { rightOf } from '../support/right-of.js'
import { accountId, deliveryFacts, deliveryId, webhookId, webhookSettings } from '../support/samples.js'

const delivered: WebhookResponse = { delivered: true, status: 200, reason: 'delivered', durationMs: 1 }
const refused: WebhookResponse = { delivered: false, status: 503, reason: 'status 503', durationMs: 1 }

/** A worker on an embedded store, whose requests `answer` answers. */
const openWorker = async (answer: (request: WebhookRequest) => Promise<WebhookResponse>) => {
  const { port, close } = await openSqlite((database: SqliteDatabase) => ({
    store: sqliteEventStore(database),
    documents: sqliteDocuments(database),
  }))
  const { store, documents } = port
  const clock = manualClock()
  const ids = randomIds(clock)
  const dispatch = dispatcher({ store, clock, kept: keptStreams(false), isShared: false })
  const vault = aesVault(Buffer.alloc(32, 1))
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
  const pause = (): Promise<void> => new Promise(setImmediate)
  const sent: Array<WebhookRequest> = []
  const worker = deliveryWorker({
    store,
    documents,
    dispatch,
    vault,
    clock,
    ids,
    logger: silent,
    random: () => 0.5,
    projected: {
      position: () => Promise.resolve(running.position()),
      reached: (position) => running.reached(position),
    },
    pause,
    observe: () => undefined,
    sender: {
      send: (request) => {
        sent.push(request)
        return answer(request)
      },
    },
  })
  const running = runProjection(anyProjection(deliveries), {
    store,
    documents,
    logger: silent,
    pause,
    isWaitedFor: false,
  })
  const cause = { actor: 'test', eventId: ids.uuid }
  const following = follow(worker.follower, { store, logger: silent, pause })
  const membership = aloneMembership()
  membership.share('delivery', () => shares, worker.work)

  const state = async (n: number) => rightOf(await dispatch.state(delivery, deliveryId(n)))
  return {
    sent,
    clock,
    worker,
    state,
    addWebhook: async (n: number, url = `http://receiver-${n}.example/`) => {
      const settings = webhookSettings({ url, sealed_token: vault.seal(`token-${n}`) })
      const command = { type: 'AddWebhook', webhookId: webhookId(n), accountId: accountId(), settings } as const
      rightOf(await dispatch.execute(webhook, webhookId(n), command, cause))
    },
    change: async (n: number, command: Parameters<typeof webhook.decide>[0]) => {
      rightOf(await dispatch.execute(webhook, webhookId(n), command, cause))
    },
    makeDue: async (n: number, to: number) => {
      const facts = deliveryFacts({ delivery_id: deliveryId(n), webhook_id: webhookId(to), body: `{"n":${n}}` })
      rightOf(await dispatch.execute(delivery, deliveryId(n), { type: 'MakeDue', facts, held: false }, cause))
    },
    /** Lets the worker go on until `condition` holds. */
    until: async (condition: () => boolean | Promise<boolean>) => {
      const end = performance.now() + 20_000
      while (!(await condition())) {
        if (performance.now() > end) throw new Error('the worker does not get there')
        await new Promise(setImmediate)
      }
    },
    close: async () => {
      await membership.leave()
      await following.stop()
      await running.stop()
      await close()
    },
  }
}

test('what is due is posted once, with the token and the exact body, and recorded', async (t) => {
  const { addWebhook, makeDue, until, state, sent, close } = await openWorker(() => Promise.resolve(delivered))
  await addWebhook(1)
  await makeDue(1, 1)
  await until(async () => (await state(1)).kind === 'over')
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
  await until(async () => (await state(1)).kind === 'over')
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
  await until(async () => (await state(60)).kind === 'over')
  await until(() => sent.filter(({ url }) => url.includes('receiver-2')).length === 30)
  t.is(sent.filter(({ url }) => url.includes('receiver-1')).length, 8)
  for (const answer of stuck) answer(delivered)
  await until(() => stuck.length === 16)
  for (const answer of stuck) answer(delivered)
  await until(() => stuck.length === 24)
  for (const answer of stuck) answer(delivered)
  await until(() => stuck.length === 30)
  for (const answer of stuck) answer(delivered)
  await until(async () => (await state(30)).kind === 'over')
  await close()
})

test('first attempts go before retries', async (t) => {
  const answers: Array<() => void> = []
  const { addWebhook, makeDue, until, sent, clock, close } = await openWorker((request) => {
    const n = Number(request.body.slice(5, -1))
    if (n <= 12) return Promise.resolve(sent.length <= 12 ? refused : delivered)
    return n > 200 ? new Promise((resolve) => answers.push(() => resolve(delivered))) : Promise.resolve(delivered)
  })
  await addWebhook(1)
  for (let n = 1; n <= 12; n += 1) await makeDue(n, 1)
  await until(() => sent.length === 12)
  for (let n = 201; n <= 208; n += 1) await makeDue(n, 1)
  await until(() => answers.length === 8)
  // With every request taken, retries and first attempts come due together.
  await until(() => clock.toNextAlarm())
  for (let n = 101; n <= 112; n += 1) await makeDue(n, 1)
  for (const answer of answers) answer()
  await until(() => sent.length === 44)
  const order = sent.slice(20).map(({ body }) => (Number(body.slice(5, -1)) > 100 ? 'first' : 'retry'))
  t.deepEqual(order, [...Array.from({ length: 12 }, () => 'first'), ...Array.from({ length: 12 }, () => 'retry')])
  await close()
})

test('while its webhook is off a delivery is held, and when it is removed it is abandoned: neither is posted', async (t) => {
  const { addWebhook, change, makeDue, until, state, sent, close } = await openWorker(() => Promise.resolve(delivered))
  await addWebhook(1)
  await addWebhook(2)
  await change(1, { type: 'TurnOffWebhook', deliveryId: deliveryId(99), reason: 'status 503' })
  await change(2, { type: 'RemoveWebhook', accountId: accountId() })
  await makeDue(1, 1)
  await makeDue(2, 2)
  await until(async () => (await state(1)).kind === 'held' && (await state(2)).kind === 'over')
  t.deepEqual(sent, [])
  await close()
})
