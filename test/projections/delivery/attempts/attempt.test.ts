import test from 'ava'
import { randomIds } from '../../../../adapters/node/ids.js'
import { aesVault } from '../../../../adapters/node/vault.js'
import { loadState } from '../../../../app/commands/states/current-states.js'
import { delivery, type DeliveryCommand } from '../../../../domain/delivery.js'
import { webhook } from '../../../../domain/webhook.js'
import { attemptWith } from '../../../../projections/delivery/attempts/attempt.js'
import type { NewDeliveries } from '../../../../projections/delivery/attempts/new-deliveries.js'
import { webhookQueue, type AttemptKind } from '../../../../projections/delivery/queue/webhook-queue.js'
import type { WebhookRequest } from '../../../../projections/delivery/webhook-client.js'
import { webhookShards } from '../../../../projections/delivery/webhook-shards.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { accountId, at, deliveryFacts, deliveryId, webhookId, webhookSettings } from '../../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { refused } from '../../../kit/parts/delivery-stage.js'
import { testLease } from '../../../kit/parts/lease.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../../kit/time/turns.js'

/** A delivery that is due at once, to a receiver that refuses, in an account with erased contacts. */
const openStage = async () => {
  const clock = manualClock()
  const ids = randomIds(clock)
  const commandHandler = sharedHandler(memoryEventStore(memoryLog()), clock)
  const vault = aesVault(Buffer.alloc(32, 1))
  const envelope = { actor: 'test', eventId: ids.uuid }
  const tell = async (command: DeliveryCommand): Promise<void> => {
    rightOf(await commandHandler.execute(delivery, deliveryId(), command, envelope))
  }
  const load = async () => rightOf(await commandHandler.load(delivery, deliveryId()))
  const settings = webhookSettings({ sealed_token: vault.seal('token') })
  const add = { type: 'AddWebhook', webhookId: webhookId(), accountId: accountId(), settings } as const
  rightOf(await commandHandler.execute(webhook, webhookId(), add, envelope))
  await tell({ type: 'MakeDue', facts: deliveryFacts({}), heldAt: undefined })
  const sent: Array<WebhookRequest> = []
  const ports = {
    ...{ commandHandler, ids, vault, clock, logger: recordingLogger(), backoff: nextTurn },
    failingWork: failingWork(turnTime),
    webhookClient: {
      send: (request: WebhookRequest) => {
        sent.push(request)
        return Promise.resolve(refused)
      },
    },
    currentWebhook: () => {
      reading()
      return loadState(commandHandler, webhook, webhookId())
    },
    hasErasures: () => Promise.resolve(true),
    random: () => 0.5,
    observe: () => undefined,
  }
  let reading = (): void => undefined
  const lease = testLease(webhookShards.of(webhookId()))
  const queue = webhookQueue(webhookId(), lease)
  return {
    sent,
    tell,
    load,
    queue,
    attempt: (take: NewDeliveries['take'], answered: () => void = () => undefined, kind: AttemptKind = 'first') =>
      attemptWith(ports, { take })(queue, deliveryId(), kind, answered),
    /** Another process takes over while it is read what an attempt needs. */
    loseLeaseWhileReading: (): void => {
      reading = lease.expire
    },
  }
}

test('what became due here and was dropped since, with its contact, is not posted', async (t) => {
  const { sent, tell, load, attempt } = await openStage()
  const due = await load()
  const history = [{ type: 'DeliveryDue', at: at() }]
  await tell({ type: 'EraseDelivery', why: 'contact-erased', createdAt: at(), at: at(), history })
  await attempt(() => due)
  t.deepEqual(sent, [])
})

test('what another process takes over while it is read is posted by that one alone, be it an attempt or a resend', async (t) => {
  for (const kind of ['first', 'resend'] as const) {
    const { sent, tell, attempt, loseLeaseWhileReading } = await openStage()
    await tell({ type: 'RequestResend', resendId: null, dueAt: at() })
    loseLeaseWhileReading()
    t.deepEqual(await attempt(() => undefined, undefined, kind), { position: undefined, isStillDue: true }, kind)
    t.deepEqual(sent, [], kind)
  }
})

test('after a delivery is caught up with its schedule begins anew, however often it was tried', async (t) => {
  const { sent, tell, load, attempt } = await openStage()
  for (const n of [1, 2, 3]) {
    const outcome = { attempt: n, status: 503, reason: 'status 503', duration_ms: 1 }
    await tell({ type: 'RecordAttempt', delivered: false, outcome, nextAttemptAt: at() })
  }
  await tell({ type: 'HoldDelivery', webhookVersion: 2 })
  await tell({ type: 'ResumeDelivery', dueAt: at() })
  await attempt(() => undefined)
  t.is(sent.length, 1)
  // 15 seconds, and half of a jitter of 10.
  t.like((await load()).state, { kind: 'due', attempts: 4, dueAt: at(20_000) })
})

for (const kind of ['first', 'resend'] as const)
  test(`a request is over once the limit heeds its answer, and before its outcome is recorded: ${kind}`, async (t) => {
    const { sent, tell, load, attempt, queue } = await openStage()
    await tell({ type: 'RequestResend', resendId: null, dueAt: at() })
    const told: Array<unknown> = []
    let attemptsThen = load()
    const answered = (): void => {
      told.push([sent.length, queue.limit.requests])
      attemptsThen = load()
    }
    await attempt(() => undefined, answered, kind)
    t.deepEqual(told, [[1, 4]])
    t.like((await attemptsThen).state, { attempts: 0 })
    t.like((await load()).state, { attempts: 1 })
  })
