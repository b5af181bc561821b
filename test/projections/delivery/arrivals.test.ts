import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import type { Position } from '../../../domain/event.js'
import { arrivals } from '../../../projections/delivery/arrivals.js'
import { leasedQueues } from '../../../projections/delivery/queue/leased-queues.js'
import { webhookShards } from '../../../projections/delivery/webhook-shards.js'
import { testLease } from '../../kit/parts/lease.js'
import { logOf } from '../../kit/domain/log.js'
import {
  accountId,
  at,
  deliveryFacts,
  deliveryId,
  resendId,
  webhookId,
  webhookSettings,
} from '../../kit/domain/samples.js'
import { isOver, settled } from '../../kit/time/turns.js'

const dueTo = (n: number): DomainEvent => ({ type: 'DeliveryDue', data: deliveryFacts({ webhook_id: webhookId(n) }) })
const resendTo = (n: number): DomainEvent => ({
  type: 'DeliveryResendRequested',
  data: { webhook_id: webhookId(n), resend_id: null, due_at: at() },
})

/** A read model that shows nothing until the test says so, and a process that holds the shard of the first webhook. */
const openStage = () => {
  const awaited: Array<{ readonly position: Position; readonly show: () => void }> = []
  const notified: Array<string> = []
  const log: Array<readonly [string, DomainEvent]> = []
  const queues = leasedQueues()
  const lease = testLease(webhookShards.of(webhookId(1)))
  queues.hold(lease)
  const note = (kind: string) => (queue: { readonly webhookId: string }) => {
    notified.push(`${kind} ${queue.webhookId}`)
  }
  const tested = arrivals({
    deliveriesFollower: {
      caughtUpTo: (position, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve())
          awaited.push({ position, show: resolve })
        }),
    },
    queues,
    notify: { due: note('due'), resend: note('resend'), jobs: note('jobs') },
  })
  return {
    ...tested,
    notified,
    awaited: () => awaited.map(({ position }) => position),
    release: () => queues.release(lease),
    /** Appends the events to the log, of which the follower of the worker learns in one batch. */
    learn: (...events: ReadonlyArray<readonly [string, DomainEvent]>): void => {
      log.push(...events)
      logOf(...log)
        .slice(-events.length)
        .forEach(tested.learn)
      tested.notifyWhenCaughtUp()
    },
    /** The read model shows what is waited for. */
    show: async (): Promise<void> => {
      awaited.at(-1)?.show()
      await settled()
    },
  }
}

const delivery = `delivery-${deliveryId()}`

test('a queue is notified of a due delivery once the read model shows it, and not before', async (t) => {
  const { learn, show, notified } = openStage()
  learn([delivery, dueTo(1)])
  await settled()
  t.deepEqual(notified, [])
  await show()
  t.deepEqual(notified, [`due ${webhookId(1)}`])
})

test('however many deliveries became due together, their queue is notified once, when the last of them is shown', async (t) => {
  const { learn, show, awaited, notified } = openStage()
  learn([delivery, dueTo(1)], [delivery, dueTo(1)], [delivery, dueTo(1)])
  t.deepEqual(awaited(), [3n])
  await show()
  t.deepEqual(notified, [`due ${webhookId(1)}`])
})

test('what arrives while another arrival waits is waited for next', async (t) => {
  const { learn, show, awaited, notified } = openStage()
  learn([delivery, dueTo(1)])
  learn([delivery, resendTo(1)])
  t.deepEqual(awaited(), [1n])
  await show()
  t.deepEqual(notified, [`due ${webhookId(1)}`])
  t.deepEqual(awaited(), [1n, 2n])
  await show()
  t.deepEqual(notified.slice(1), [`resend ${webhookId(1)}`])
})

const turnedOff: DomainEvent = { type: 'WebhookTurnedOff', data: { delivery_id: deliveryId(), reason: 'status 503' } }
const cases: ReadonlyArray<readonly [string, DomainEvent, string]> = [
  [delivery, dueTo(1), 'due'],
  [delivery, resendTo(1), 'resend'],
  [delivery, { type: 'DeliveryHeld', data: { webhook_id: webhookId(), webhook_version: 2 } }, 'jobs'],
  [
    delivery,
    {
      type: 'DeliveryAbandoned',
      data: { delivery_id: deliveryId(), webhook_id: webhookId(), why: 'webhook-removed', outcome: null },
    },
    'jobs',
  ],
  [`webhook-${webhookId()}`, turnedOff, 'jobs'],
  [`webhook-${webhookId()}`, { type: 'WebhookTurnedOn', data: { catch_up: true, by: 'somebody' } }, 'jobs'],
  [`webhook-${webhookId()}`, { type: 'WebhookRemoved', data: {} }, 'jobs'],
  [
    `resend-${resendId()}`,
    {
      type: 'ResendStarted',
      data: { resend_id: resendId(), account_id: accountId(), webhook_id: webhookId(), from: at(), to: at() },
    },
    'jobs',
  ],
]

for (const [stream, event, kind] of cases) {
  test(`the queue of a webhook is notified of ${event.type} as ${kind}`, async (t) => {
    const { learn, show, notified } = openStage()
    learn([stream, event])
    await show()
    t.deepEqual(notified, [`${kind} ${webhookId(1)}`])
  })
}

test('nobody waits for events that leave nothing to do', (t) => {
  const { learn, awaited } = openStage()
  const data = { webhook_id: webhookId(), account_id: accountId(), settings: webhookSettings() }
  learn([`webhook-${webhookId()}`, { type: 'WebhookAdded', data }], [delivery, { type: 'DeliveryHeld', data: {} }])
  t.deepEqual(awaited(), [])
})

test('nobody is notified about the webhooks of another process', async (t) => {
  const { learn, show, awaited, notified } = openStage()
  t.not(webhookShards.of(webhookId(2)), webhookShards.of(webhookId(1)))
  learn([delivery, dueTo(2)])
  t.deepEqual(awaited(), [])
  learn([delivery, dueTo(1)], [delivery, dueTo(2)])
  await show()
  t.deepEqual(notified, [`due ${webhookId(1)}`])
})

test('nobody is notified where another process took over while the read model was waited for', async (t) => {
  const { learn, show, release, notified } = openStage()
  learn([delivery, dueTo(1)])
  release()
  await show()
  t.deepEqual(notified, [])
})

test('all that was learnt is shown once the newest event of the log is, whichever webhook that concerns', async (t) => {
  const { learn, shown, show, awaited } = openStage()
  learn([delivery, dueTo(2)], [delivery, dueTo(2)])
  const waiting = shown(new AbortController().signal)
  t.deepEqual(awaited(), [2n])
  t.false(await isOver(waiting))
  await show()
  t.true(await isOver(waiting))
})

test('after a worker has stopped nobody is notified', async (t) => {
  const { learn, stop, notified } = openStage()
  learn([delivery, dueTo(1)])
  stop()
  await settled()
  t.deepEqual(notified, [])
})
