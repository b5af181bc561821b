import test from 'ava'
import { randomIds } from '../../../../adapters/node/ids.js'
import { later } from '../../../../domain/instant.js'
import { resend, type ResendCommand } from '../../../../domain/resend.js'
import { bulkResends } from '../../../../projections/delivery/jobs/bulk-resend.js'
import { webhookQueue } from '../../../../projections/delivery/queue/webhook-queue.js'
import { collectionOf } from '../../../../projections/projection.js'
import { deliveries } from '../../../../projections/read-models/deliveries.js'
import { exponentialBackoff } from '../../../../projections/subscriptions/retries/backoff.js'
import type { Documents } from '../../../../projections/ports.js'
import type { WebhookResponse } from '../../../../projections/delivery/webhook-client.js'
import {
  delivered,
  numberOf,
  openStage,
  openWorker,
  refused,
  turnOff,
  upTo,
} from '../../../kit/parts/delivery-stage.js'
import { accountId, at, deliveryId, positionAt, resendId, webhookId } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { endedWith } from '../../../kit/parts/ended-with.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { testLease } from '../../../kit/parts/lease.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
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
  const { addWebhook, change, makeDue, failAttempts, resend, resendState, until, state, events, sent, close } = harness
  await addWebhook(1)
  await change(1, turnOff)
  for (const n of upTo(40)) {
    await makeDue(n, 1, 2)
    await failAttempts(n)
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

test('the resends of a bulk resend leave nothing on the signal of the lease, which may last for months', async (t) => {
  const stage = await openStage()
  const { sent, follow, hold } = stage.openWorker(() => Promise.resolve(refused))
  const { addWebhook, change, makeDue, failAttempts, resend, resendState, until, close } = stage
  stage.project()
  follow()
  const { ending } = hold(1)
  await addWebhook(1)
  await change(1, turnOff)
  for (const n of upTo(40)) {
    await makeDue(n, 1, 2)
    await failAttempts(n)
  }
  const held: Array<number> = []
  for (const nth of upTo(3)) {
    await resend(nth, { ...startAll, resendId: resendId(nth) })
    await until(async () => (await resendState(nth)) === 'completed')
    await settled()
    held.push(endedWith(ending))
  }
  t.is(sent.length, 3 * 40)
  t.deepEqual(
    held,
    held.map(() => held[0]),
  )
  await close()
})

test('a bulk resend that is cancelled requests no more resends, and those that it requested are posted', async (t) => {
  const answers: Array<(response: WebhookResponse) => void> = []
  const harness = await openWorker(() => new Promise((resolve) => answers.push(resolve)))
  const { addWebhook, change, makeDue, failAttempts, resend, resendState, until, events, sent, close } = harness
  await addWebhook(1)
  await change(1, turnOff)
  for (const n of upTo(40)) {
    await makeDue(n, 1, 2)
    await failAttempts(n)
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
  const {
    addWebhook,
    change,
    makeDue,
    failAttempts,
    resend,
    resendState,
    until,
    project,
    openWorker: open,
    close,
  } = stage
  const { sent, follow: begin, hold } = open(() => Promise.resolve(delivered))
  const stop = project()
  await addWebhook(1)
  await change(1, turnOff)
  await stop()
  await makeDue(1, 1, 2)
  await failAttempts(1)
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

const hour = 3_600_000

/**
 * A bulk resend that has requested what it had to, of which one delivery is not posted; time goes on where the test
 * says so.
 */
const openWaiting = async () => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const clock = manualClock()
  const commandHandler = sharedHandler(store, clock)
  const ids = randomIds(clock)
  const collection = collectionOf(deliveries)
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collection))
  const waiting = { id: deliveryId(1), webhook_id: webhookId(), state: 'held', resend: webhookId(), resend_at: at() }
  rightOf(
    await documents.apply(collection, [{ key: waiting.id, document: waiting, position: positionAt(1) }], positionAt(1)),
  )
  rightOf(await commandHandler.execute(resend, resendId(), startAll, { actor: 'test', eventId: ids.uuid }))
  let looks = 0
  const find: Documents['find'] = (asked, query) => {
    if (query.index === 'resends') looks += 1
    return documents.find(asked, query)
  }
  const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
    clock.sleepUntil(later(clock.now(), milliseconds), signal)
  const { learn, areRunning, carryOut } = bulkResends({
    ...{ store, documents: { ...documents, find }, commandHandler, clock, ids },
    deliveriesFollower: { caughtUpTo: () => Promise.resolve() },
    backoff: exponentialBackoff({ first: 200, longest: 3_000 }, { sleep }),
    expect: () => undefined,
    setAside: () => Promise.reject(new Error('nothing fails here')),
  })
  eventsIn(log).forEach(learn)
  const lease = testLease('shard')
  const queue = webhookQueue(webhookId(), lease)
  let isOver = false
  const carriedOut = carryOut(queue).then(() => (isOver = true))
  return {
    ...{ queue, lease, carriedOut },
    isOver: () => isOver,
    isRunning: () => areRunning(webhookId()),
    state: async () => rightOf(await commandHandler.load(resend, resendId())).state.kind,
    /** So much time goes by: how often it looked meanwhile whether there is room. */
    pass: async (milliseconds: number): Promise<number> => {
      const before = looks
      const latest = clock.time() + milliseconds
      do await settled()
      while (clock.toNextTimer(latest))
      await settled()
      return looks - before
    },
    /** The delivery waits no more, without an attempt of this process. */
    forget: async () => {
      const gone = { key: waiting.id, document: undefined, position: positionAt(2) }
      rightOf(await documents.apply(collection, [gone], positionAt(2)))
    },
  }
}

test('a bulk resend whose receiver holds it up for hours looks for room once a minute, and is complete a minute after there is', async (t) => {
  const { pass, state, forget, isOver } = await openWaiting()
  const looks = await pass(3 * hour)
  t.true(looks <= 3 * 60 + 5, `${looks} looks`)
  t.is(await state(), 'running')
  await forget()
  await pass(61_000)
  t.true(isOver())
  t.is(await state(), 'completed')
})

test('a bulk resend whose webhook is set aside meanwhile waits for nothing, and begins anew where that is tried again', async (t) => {
  const { pass, state, queue, isOver, isRunning } = await openWaiting()
  await pass(hour)
  queue.setAside.set(webhookId(), 'prk_1')
  await pass(61_000)
  t.true(isOver())
  t.is(await pass(3 * hour), 0)
  t.is(await state(), 'running')
  t.true(isRunning(), 'whoever has the webhook tried again has this carried out')
})

test('a bulk resend that waits for room ends at once where its lease does', async (t) => {
  const { pass, lease, state, carriedOut } = await openWaiting()
  await pass(hour)
  lease.recall()
  await carriedOut
  t.is(await state(), 'running')
})
