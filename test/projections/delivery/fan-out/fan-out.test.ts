import test from 'ava'
import { neverAborted } from '../../../../domain/abortable.js'
import { contact } from '../../../../domain/contact.js'
import { engagement } from '../../../../domain/engagement.js'
import type { LeadId, WebhookId } from '../../../../domain/ids.js'
import type { EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { webhook } from '../../../../domain/webhook.js'
import { beginning } from '../../../../domain/event.js'
import { anyProjection, collectionOf } from '../../../../projections/projection.js'
import { contacts } from '../../../../projections/read-models/contacts.js'
import { applyBatch } from '../../../../projections/subscriptions/runner.js'
import {
  accountId,
  at,
  contactId,
  engagementId,
  erasureId,
  leadId,
  webhookId,
  webhookSettings,
} from '../../../kit/domain/samples.js'
import { countedReads } from '../../../kit/parts/counted-reads.js'
import { openFanOutStage } from '../../../kit/parts/fan-out-stage.js'
import { rightOf } from '../../../kit/right-of.js'

/** A stage that counts what the fan-out reads. */
const openStage = async () => {
  let counted: ReturnType<typeof countedReads> | undefined
  const stage = await openFanOutStage((stored) => (counted = countedReads(stored)).store)
  const { stored, documents, submit, written } = stage
  await stage.restart()
  return {
    ...stage,
    taken: (category?: string) => counted?.taken(category) ?? { calls: 0, events: 0, bytes: 0 },
    submit: (n: number) => submit(n, { additional_info: { order: String(n) } }),
    /** The read model of the contacts shows what has happened. */
    show: async () => {
      rightOf(await documents.prepare(collectionOf(contacts)))
      for await (const batch of stored.history(beginning, contacts.categories, neverAborted))
        await applyBatch(anyProjection(contacts), documents, batch)
    },
    bodies: async () =>
      (await written('delivery')).flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.body] : [])),
  }
}

test('the five-hundredth lead of a number costs the fan-out the reads of the first one', async (t) => {
  const { submit, run, taken, bodies } = await openStage()
  await submit(1)
  await run()
  const first = taken()
  for (let n = 2; n < 500; n += 1) await submit(n)
  await run()
  taken()
  await submit(500)
  await run()
  t.deepEqual(taken(), first)
  const orders = (await bodies()).map((body) => /"order":"(\d+)"/.exec(body)?.[1])
  t.deepEqual(
    orders,
    Array.from({ length: 500 }, (_, n) => String(n + 1)),
  )
})

test('after a restart a contact with many leads is read for the first activity that follows, and for no other', async (t) => {
  const { submit, run, restart, taken, bodies } = await openStage()
  for (let n = 1; n <= 50; n += 1) await submit(n)
  await run()
  await restart()
  for (let n = 51; n <= 150; n += 1) await submit(n)
  taken()
  await run()
  t.true(taken('contact-').calls <= 2)
  t.is((await bodies()).length, 150)
})

test('after a restart a contact with hundreds of leads is read by a hundred events at most, wherever its read model stands', async (t) => {
  for (const isShownFirst of [true, false]) {
    const { submit, show, run, restart, taken, bodies } = await openStage()
    for (let n = 1; n <= 300; n += 1) await submit(n)
    await run()
    if (isShownFirst) await show()
    await restart()
    for (let n = 301; n <= 305; n += 1) await submit(n)
    if (!isShownFirst) await show()
    taken()
    await run()
    const { events } = taken('contact-')
    t.true(events <= 100, `${events} events`)
    t.is(/"order":"(\d+)"/.exec((await bodies()).at(-1) ?? '')?.[1], '305')
  }
})

test('nothing becomes due of a contact that was erased before the fan-out came to its activities', async (t) => {
  for (const isErased of [false, true]) {
    const { submit, commandHandler, envelope, run, written } = await openFanOutStage((stored) => stored, isErased)
    await submit(1)
    const erase = { type: 'EraseContact', contactId: contactId(), erasureId: erasureId(), optHistory: [] } as const
    if (isErased) rightOf(await commandHandler.execute(contact, contactId(), erase, envelope))
    await run()
    t.is((await written('delivery')).length, isErased ? 0 : 1)
  }
})

test('the contact of an opt-out is shown as opted out, though its own stream says so only after it', async (t) => {
  const { submit, commandHandler, envelope, run, bodies } = await openStage()
  await submit(1)
  const told = { type: 'RecordActivity', accountId: accountId(), label: 'opted_out', at: at(1) } as const
  rightOf(await commandHandler.execute(engagement, engagementId(1), told, envelope))
  await run()
  t.deepEqual(
    (await bodies()).map((body) => {
      const { activity, contact } = JSON.parse(body) as Readonly<Record<string, Readonly<Record<string, unknown>>>>
      return [activity?.['label'], contact?.['opted_out']]
    }),
    [
      ['started', false],
      ['opted_out', true],
    ],
  )
})

test('of activities that one append recorded each delivery is listed in its turn', async (t) => {
  const { submit, commandHandler, envelope, run, written } = await openFanOutStage()
  await submit(1)
  const optOut = { type: 'OptOut', engagementId: engagementId() } as const
  rightOf(await commandHandler.execute(contact, contactId(), optOut, envelope))
  await submit(2)
  await run()
  const made = (await written('delivery')).flatMap(({ type, data, time }) =>
    type === 'DeliveryDue' ? [{ label: data.label, time }] : [],
  )
  t.deepEqual(
    made.toSorted((one, other) => (one.time < other.time ? -1 : 1)).map(({ label }) => label),
    ['started', 'started', 'filtered'],
  )
  t.is(new Set(made.slice(1).map(({ time }) => time)).size, 2)
})

/** Commits what waits for the disk together, in the order of the calls, and counts. */
const groupCommits = () => {
  let commits = 0
  let most = 0
  let waiting: Array<() => void> = []
  const commit = (): void => {
    const committed = waiting
    waiting = []
    commits += 1
    most = Math.max(most, committed.length)
    for (const append of committed) append()
  }
  return {
    on: (store: EventStore): EventStore => ({
      ...store,
      append: async (...append) => {
        if (waiting.length === 0) setImmediate(commit)
        await new Promise<void>((resolve) => waiting.push(resolve))
        return store.append(...append)
      },
    }),
    /** Since it was asked last. `most`: appends that one commit held. */
    taken: () => {
      const counted = { commits, most }
      commits = 0
      most = 0
      return counted
    },
  }
}

/** A stage with so many webhooks that writes to the log as `writable` does. */
const openStageOf = async (webhooks: number, writable: (stored: EventStore) => EventStore) => {
  const stage = await openFanOutStage(undefined, false, writable)
  const settings = webhookSettings()
  for (let n = 2; n <= webhooks; n += 1) {
    const command = { type: 'AddWebhook', webhookId: webhookId(n), accountId: accountId(), settings } as const
    rightOf(await stage.commandHandler.execute(webhook, webhookId(n), command, stage.envelope))
  }
  return stage
}

test('the deliveries of an activity that goes to many webhooks are made together, a bounded number at a time', async (t) => {
  const { on, taken } = groupCommits()
  const { submit, run, written } = await openStageOf(300, on)
  await submit(1)
  taken()
  await run()
  t.deepEqual(taken(), { commits: 3, most: 128 })
  t.is((await written('delivery')).length, 300)
})

test('activities that are handled together share that number, and each webhook gets them in the order of the log', async (t) => {
  const { on, taken } = groupCommits()
  const { submit, run, written } = await openStageOf(100, on)
  for (let n = 1; n <= 4; n += 1) await submit(n)
  taken()
  await run()
  const { commits, most } = taken()
  t.true(commits <= 4 && most <= 128, `${commits} commits of up to ${most} appends`)
  const got = new Map<WebhookId, Array<LeadId | null | undefined>>()
  for (const { type, data } of await written('delivery')) {
    if (type !== 'DeliveryDue') continue
    got.set(data.webhook_id, [...(got.get(data.webhook_id) ?? []), data.lead_id])
  }
  t.is(got.size, 100)
  for (const leads of got.values()) t.deepEqual(leads, [leadId(1), leadId(2), leadId(3), leadId(4)])
})

test('an activity one of whose deliveries could not be stored for now comes again, though another never can be', async (t) => {
  const refusing = (store: EventStore): EventStore => ({
    ...store,
    append: (stream, ...append) => {
      const [, [event]] = append
      if (event.type !== 'DeliveryDue') return store.append(stream, ...append)
      const isFirst = event.data.webhook_id === webhookId()
      const kind = isFirst ? 'corrupt' : 'unavailable'
      return Promise.resolve(E.left({ kind, reason: 'refused, or away' }))
    },
  })
  const { submit, run, written } = await openStageOf(2, refusing)
  await submit(1)
  await t.throwsAsync(run(), { message: /away/ })
  t.is((await written('parked')).length, 0)
})

test('an activity that comes again since its delivery could not be stored is told with the contact as it was then', async (t) => {
  let isAway = true
  const refusing = (store: EventStore): EventStore => ({
    ...store,
    append: (stream, ...append) =>
      isAway && stream.startsWith('delivery-')
        ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' }))
        : store.append(stream, ...append),
  })
  const { submit, run, beginAgain, written } = await openStageOf(1, refusing)
  await submit(1, { first_name: 'Ada' })
  await submit(2, { first_name: 'Grace' })
  await t.throwsAsync(run(), { message: /away/ })
  isAway = false
  await beginAgain()
  await run()
  const bodies = (await written('delivery')).flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.body] : []))
  t.deepEqual(
    bodies.map((body) => /"first_name":"(\w+)"/.exec(body)?.[1]),
    ['Ada', 'Grace'],
  )
})
