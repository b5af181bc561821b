import test, { type ExecutionContext } from 'ava'
import { accountId, at, deliveryId, resendId, webhookId } from '../../kit/domain/samples.js'
import { delivered, openStage, upTo } from '../../kit/parts/delivery-stage.js'
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
