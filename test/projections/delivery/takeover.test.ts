import test, { type ExecutionContext } from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import { accountId, at, deliveryId, resendId, webhookId } from '../../kit/domain/samples.js'
import { delivered, openStage, refused, upTo } from '../../kit/parts/delivery-stage.js'
import { watchedHistory } from '../../kit/parts/watched-history.js'
import { settled } from '../../kit/time/turns.js'

/** Webhooks that have got all that there was for them. */
const idle = 40

/** A stage whose read models show a log of many webhooks, and what is read of that log from now on. */
const openLongLog = async (t: ExecutionContext) => {
  let watched: ReturnType<typeof watchedHistory> | undefined
  const stage = await openStage((store) => (watched = watchedHistory(store)).store)
  t.teardown(stage.close)
  stage.project()
  for (const n of upTo(idle)) {
    await stage.addWebhook(n)
    await stage.makeDue(n, n)
    await stage.tell(n, { type: 'RecordAttempt', delivered: true, outcome, nextAttemptAt: at() })
    const started = { resendId: resendId(n), accountId: accountId(), webhookId: webhookId(n), ...period }
    await stage.resend(n, { type: 'StartResend', ...started })
    await stage.resend(n, { type: 'CompleteResend' })
  }
  const shown = async (): Promise<void> => {
    await stage.caughtUp()
    if (watched !== undefined) Object.assign(watched.read, { events: 0, batches: 0 })
  }
  return { ...stage, shown, read: () => watched?.read.events }
}

const webhooksIn = (streams: ReadonlySet<string>) => [...streams].filter((one) => one.startsWith('webhook-'))

const outcome = { attempt: 1, status: 200, reason: 'delivered', duration_ms: 1 }
const period = { from: at(-60_000), to: at(60_000) }

test('a worker that begins reads no event of the log, and no webhook that has nothing to get', async (t) => {
  const { makeDue, shown, read, until, state, openWorker } = await openLongLog(t)
  await makeDue(99, 7)
  await shown()
  const { follow, holdAll, sent, loaded } = openWorker(() => Promise.resolve(delivered))
  holdAll()
  follow()
  await until(async () => (await state(99)).kind === 'succeeded')
  await settled()
  t.is(read(), 0)
  t.deepEqual(webhooksIn(loaded), [`webhook-${webhookId(7)}`])
  t.deepEqual(
    sent.map(({ id }) => id),
    [deliveryId(99)],
  )
})

test('a worker that takes a shard over reads no event of the log, and no webhook that has nothing to get', async (t) => {
  const { makeDue, shown, read, until, state, openWorker } = await openLongLog(t)
  const { follow, hold, loaded } = openWorker(() => Promise.resolve(delivered))
  follow()
  await settled()
  await makeDue(99, 7)
  await shown()
  hold(7)
  await until(async () => (await state(99)).kind === 'succeeded')
  await settled()
  t.is(read(), 0)
  t.deepEqual(webhooksIn(loaded), [`webhook-${webhookId(7)}`])
})

test('whoever gets a shard back takes no delivery for new that another worker may have tried, and reads none that is', async (t) => {
  const stage = await openStage()
  t.teardown(stage.close)
  const { addWebhook, makeDue, events, until, state, project, caughtUp, openWorker, clock } = stage
  const learnt = async (n: number) => {
    const all = await events()
    const due = all.filter(({ type, stream }) => type === 'DeliveryDue' && stream === `delivery-${deliveryId(n)}`)
    return { events: due, position: due.at(-1)?.position ?? beginning }
  }
  const first = openWorker(() => Promise.resolve(delivered))
  const second = openWorker(() => Promise.resolve(refused))
  const stop = project()
  await addWebhook(1)
  await caughtUp()
  // The first worker learns of what happens late, when the test says so.
  const { follower } = first.worker
  await follower.begin(neverAborted)
  const lost = first.hold(1)
  lost.expire()
  await lost.done

  second.follow()
  await makeDue(1, 1)
  await caughtUp()
  // From now on the read model shows a first attempt that is due.
  await stop()
  const lease = second.hold(1)
  await until(async () => {
    const now = await state(1)
    return now.kind === 'due' && now.attempts === 1
  })
  lease.recall()
  await lease.done

  const old = await learnt(1)
  first.hold(1)
  await follower.handle(old)
  await settled()
  t.deepEqual(first.sent, [], 'it is a retry that is not due yet')

  project()
  await caughtUp()
  await makeDue(2, 1)
  await follower.handle(await learnt(2))
  await until(async () => (await state(2)).kind === 'succeeded')
  t.false(first.loaded.has(`delivery-${deliveryId(2)}`))
  await until(() => clock.toNextTimer())
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(first.sent.length, 2)
})

test('a shard that comes while a worker that begins takes the queues of others is searched too', async (t) => {
  const { addWebhook, makeDue, caughtUp, until, state, project, openWorker, close } = await openStage()
  t.teardown(close)
  project()
  for (const n of [1, 2]) {
    await addWebhook(n)
    await makeDue(n, n)
  }
  await caughtUp()
  let comes = (): void => undefined
  const beforeLoad = (): Promise<void> => {
    comes()
    return Promise.resolve()
  }
  const { worker, hold } = openWorker(() => Promise.resolve(delivered), beforeLoad)
  comes = () => {
    comes = () => undefined
    hold(1)
  }
  hold(2)
  await worker.follower.begin(neverAborted)
  for (const n of [2, 1]) await until(async () => (await state(n)).kind === 'succeeded')
  t.pass()
})
