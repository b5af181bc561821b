import test from 'ava'
import { parkedEventIdOf } from '../../../../domain/derived-id.js'
import type { RecordedEvent } from '../../../../domain/events.js'
import { parkedEvent } from '../../../../domain/parked-event.js'
import type { EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { webhook, type WebhookCommand } from '../../../../domain/webhook.js'
import { accountId, deliveryId, webhookId, webhookSettings } from '../../../kit/domain/samples.js'
import { openFanOutStage } from '../../../kit/parts/fan-out-stage.js'
import { rightOf } from '../../../kit/right-of.js'

/** The same store, whose changes of the first webhook throw in a fold for as long as they are broken. */
const breakable = (stored: EventStore) => {
  let isBroken = false
  const given = (event: RecordedEvent): RecordedEvent =>
    isBroken && event.type === 'WebhookChanged' && event.stream === `webhook-${webhookId(1)}`
      ? ({ ...event, data: undefined } as unknown as RecordedEvent)
      : event
  const store: EventStore = {
    ...stored,
    read: async (...args) => {
      const read = await stored.read(...args)
      return E.isLeft(read) ? read : E.right({ ...read.right, events: read.right.events.map(given) })
    },
    history: async function* (...args) {
      for await (const { events, position } of stored.history(...args)) yield { events: events.map(given), position }
    },
  }
  return {
    store,
    setBroken: (broken: boolean) => {
      isBroken = broken
    },
  }
}

/** An account with two webhooks. The change of the first one to the flat format can't be folded, and was parked. */
const openStage = async () => {
  let setBroken: (broken: boolean) => void = () => undefined
  const stage = await openFanOutStage((stored) => {
    const broken = breakable(stored)
    setBroken = broken.setBroken
    return broken.store
  })
  const { commandHandler, envelope, run, written } = stage
  const inWebhook = async (n: number, command: WebhookCommand) =>
    rightOf(await commandHandler.execute(webhook, webhookId(n), command, envelope)).events

  const ofAccount = { accountId: accountId(), settings: webhookSettings() } as const
  await inWebhook(2, { type: 'AddWebhook', webhookId: webhookId(2), ...ofAccount })
  const [changed] = await inWebhook(1, { type: 'ChangeWebhook', ...ofAccount, settings: { format: 'flat' } })
  setBroken(true)
  await run()

  return {
    ...stage,
    setBroken,
    turnOff: () =>
      inWebhook(1, {
        type: 'TurnOffWebhook',
        deliveryId: deliveryId(),
        reason: 'status 500',
        failingSince: undefined,
        version: 2,
      }),
    requestRetry: async () => {
      const id = parkedEventIdOf('delivery_projector', changed?.id ?? '')
      rightOf(await commandHandler.execute(parkedEvent, id, { type: 'RequestRetry' }, envelope))
    },
    parked: async () => (await written('parked')).map(({ type }) => type),
    /** Of each delivery the webhook and its format. */
    due: async () =>
      (await written('delivery')).flatMap((event) =>
        event.type === 'DeliveryDue'
          ? [[event.data.webhook_id, event.data.body.startsWith('{"activity_type"') ? 'flat' : 'agent']]
          : [],
      ),
    heldAt: async () =>
      (await written('delivery')).flatMap((event) =>
        event.type === 'DeliveryHeld' ? [event.data.webhook_version] : [],
      ),
  }
}

const asBefore = [
  [webhookId(1), 'agent'],
  [webhookId(2), 'agent'],
]

test('after a restart an event of a webhook that can not be folded holds up nobody, and its webhook stays as it was', async (t) => {
  const { run, restart, submit, parked, due } = await openStage()
  t.deepEqual(await parked(), ['EventParked'])
  await restart()
  await submit(1)
  await run()
  t.deepEqual(await due(), asBefore)
})

test('a retry that fails again costs no webhook a delivery, and one that succeeds changes its webhook', async (t) => {
  const { run, submit, requestRetry, setBroken, parked, due } = await openStage()
  await requestRetry()
  await run()
  t.deepEqual(await parked(), ['EventParked', 'ParkedEventRetryRequested', 'ParkedEventRetryFailed'])
  await submit(1)
  await run()
  t.deepEqual(await due(), asBefore)

  setBroken(false)
  await requestRetry()
  await run()
  t.deepEqual((await parked()).slice(3), ['ParkedEventRetryRequested', 'ParkedEventHandled'])
  await submit(2)
  await run()
  t.deepEqual((await due()).slice(2), [
    [webhookId(1), 'flat'],
    [webhookId(2), 'agent'],
  ])
})

test('what happens to a webhook right behind the retry of its event is folded once', async (t) => {
  const { run, submit, requestRetry, setBroken, turnOff, heldAt } = await openStage()
  setBroken(false)
  // All in one batch.
  await requestRetry()
  await turnOff()
  await submit(1)
  await run()
  t.deepEqual(await heldAt(), [3])
})
