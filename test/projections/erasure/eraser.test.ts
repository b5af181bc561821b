import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { codecOf, type RecordedEvent } from '../../../domain/events.js'
import { E } from '../../../domain/prelude.js'
import { delivery } from '../../../domain/delivery.js'
import { engagement } from '../../../domain/engagement.js'
import { later } from '../../../domain/instant.js'
import { lead } from '../../../domain/lead.js'
import { personalFields } from '../../../domain/personal-data.js'
import { message } from '../../../domain/message.js'
import type { Documents } from '../../../projections/ports.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { newEvent } from '../../kit/domain/new-events.js'
import {
  accountId,
  at,
  contactId,
  deliveryFacts,
  deliveryId,
  engagementId,
  leadFacts,
  leadId,
  messageId,
  parkedEventId,
  uuid,
  webhookId,
} from '../../kit/domain/samples.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { unknownFields } from '../../kit/domain/unknown-fields.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { atOnce, type Steps } from '../../kit/memory/steps.js'
import { contactsIn, openErasureStage, type Contact } from '../../kit/parts/erasure-stage.js'
import { project } from '../../kit/parts/project.js'
import { rightOf } from '../../kit/right-of.js'
import { openEventStoreDb } from '../../kit/stores/eventstoredb.js'

/** A log in memory with a history in it; `run` may be given the steps that its store takes. */
const openStage = async (history: History) => {
  const log = memoryLog()
  const { run, ...stage } = await openErasureStage(memoryEventStore(log), history)
  return {
    ...stage,
    run: (steps: Steps = atOnce, options: Parameters<typeof run>[2] = {}) =>
      run(memoryEventStore(log, steps), undefined, options),
  }
}

const history = eventfulHistory(11)
const some = contactsIn(history).slice(0, 5)
const [first] = some
if (first === undefined) throw new Error('nobody became a contact')

/** The contact that an event is about, as its own data says. */
const contactIn = (event: RecordedEvent): unknown =>
  'contact_id' in event.data ? event.data.contact_id : event.stream.replace(/^contact-/, '')

/** What the service itself says of an activity. */
const ownWords =
  /^(The playbook started|The contact opted out before|.* was recorded|The contact replied|The contact asked for no more messages|A rule of the playbook says so|There is no hour .*|a code)$/

const isPersonal = ({ type, data }: RecordedEvent): boolean =>
  type === 'ActivityRecorded'
    ? data.activity.note !== null && !ownWords.test(data.activity.note)
    : personalFields[type].some(
        (path) => path.split('.').reduce<unknown>((value, name) => fieldOf(value, name), data) !== undefined,
      )

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined

/** Streams whose events are about a contact, personal or not. */
const streamsOf = (events: History, { id }: Contact): ReadonlySet<string> =>
  new Set(events.filter((event) => contactIn(event) === id).map(({ stream }) => stream))

test('nothing personal of an erased contact is left in the log, and nothing of anybody else is touched', async (t) => {
  for (const one of some) {
    const stage = await openStage(history)
    await stage.request(one)
    await stage.run()
    const visible = await stage.visible()
    const own = streamsOf([...history, ...visible], one)
    t.deepEqual(
      visible.filter((event) => own.has(event.stream) && isPersonal(event)).map(({ type }) => type),
      [],
    )
    const isOther = ({ stream, type }: RecordedEvent): boolean =>
      !own.has(stream) && !stream.startsWith('erasure-') && type !== 'ResendCounted'
    const others = (events: History) => events.filter(isOther)
    t.deepEqual(others(visible), others(history))
    const remarks = history.flatMap((event) =>
      event.type === 'EngagementStarted' && event.data.contact_id === one.id
        ? [`remark-${event.data.engagement_id}`]
        : [],
    )
    t.deepEqual(stage.removed.toSorted(), [`contact-${one.id}`, ...remarks].toSorted())
  }
})

test('read models that are built anew are those that were there, before an erasure and after it', async (t) => {
  for (const one of some) {
    const stage = await openStage(history)
    await stage.request(one)
    await stage.run()
    const visible = await stage.visible()
    const before = new Set(history.map(({ id }) => id))
    const lived = [...history, ...visible.filter(({ id }) => !before.has(id))]
    for (const projection of readModels)
      t.deepEqual(project(projection, visible), project(projection, lived), projection.name)
  }
})

test('an erasure says what was told to which webhooks, and which deliveries it dropped', async (t) => {
  let told = 0
  let droppedInAll = 0
  for (const one of some) {
    const stage = await openStage(history)
    await stage.request(one)
    await stage.run()
    const completed = (await stage.visible()).find(({ type }) => type === 'ErasureCompleted')
    if (completed?.type !== 'ErasureCompleted') return t.fail('it did not end')
    const { webhooks, dropped, dropped_count } = completed.data
    const due = history.flatMap((event) =>
      event.type === 'DeliveryDue' && event.data.contact_id === one.id ? [event.data] : [],
    )
    const waiting = project(deliveriesModel, history)
    const eventsOf = (id: string) => history.filter(({ stream }) => stream === `delivery-${id}`)
    // Whatever it answered: it may have read what was posted.
    const wasTried = ({ data }: RecordedEvent) => 'outcome' in data && data.outcome !== null
    const isUnderWay = (id: string): boolean => {
      const { next_attempt_at, resend } = waiting[id] ?? {}
      // The clock of who posts it may be ahead.
      const posted = later(stage.now(), 2_000)
      return resend !== undefined || (typeof next_attempt_at === 'string' && next_attempt_at <= posted)
    }
    for (const { id, deliveries } of webhooksOf(webhooks)) {
      const delivered = due.filter(
        ({ webhook_id, delivery_id }) =>
          webhook_id === id && (isUnderWay(delivery_id) || eventsOf(delivery_id).some(wasTried)),
      )
      t.is(deliveries, delivered.length)
      told += deliveries
    }
    const isWaiting = (id: string) =>
      ['due', 'held'].includes(String(waiting[id]?.['state'])) || waiting[id]?.['resend'] !== undefined
    t.deepEqual(
      [...dropped].toSorted(),
      due
        .map(({ delivery_id }) => delivery_id)
        .filter(isWaiting)
        .toSorted(),
    )
    t.is(dropped_count, dropped.length)
    droppedInAll += dropped_count
  }
  t.true(told > 0)
  t.true(droppedInAll > 0)
})

test('a delivery that comes due while others are dropped, or by a clock that is ahead, counts as posted', async (t) => {
  const toldAfter = async (wait: number, passing: number) => {
    const log = memoryLog()
    const stage = await openErasureStage(memoryEventStore(log), history)
    const id = deliveryId(9_000)
    const ids = { delivery_id: id, webhook_id: webhookId(9_000), account_id: first.accountId, contact_id: first.id }
    await stage.execute(delivery, id, { type: 'MakeDue', facts: deliveryFacts(ids), heldAt: undefined })
    const nobody = { dns: 1, connect: null, tls: null, first_byte: null, total: 1 }
    const outcome = { attempt: 1, status: null, reason: 'no route', duration_ms: 1, times: nobody }
    const nextAttemptAt = later(stage.now(), wait)
    await stage.execute(delivery, id, { type: 'RecordAttempt', delivered: false, outcome, nextAttemptAt })
    await stage.request(first)
    const begunAt = stage.now()
    const store = memoryEventStore(log)
    const read: typeof store.read = (stream, ...part) => {
      if (stream === `delivery-${id}`) stage.setClock(later(begunAt, passing))
      return store.read(stream, ...part)
    }
    await stage.run({ ...store, read })
    const completed = (await stage.visible()).find(({ type }) => type === 'ErasureCompleted')
    if (completed?.type !== 'ErasureCompleted') throw new Error('it did not end')
    return completed.data.webhooks.some(({ webhook_id }) => webhook_id === ids.webhook_id)
  }
  t.true(await toldAfter(60_000, 60_000))
  t.true(await toldAfter(1_000, 0))
  t.false(await toldAfter(60_000, 0))
})

const webhooksOf = (webhooks: ReadonlyArray<{ readonly webhook_id: string; readonly deliveries: number }>) =>
  webhooks.map(({ webhook_id: id, deliveries }) => ({ id, deliveries }))

const found = readModels.find(({ name }) => name === 'deliveries')
if (found === undefined) throw new Error('there are no deliveries')
const deliveriesModel = found

test('an erased message tells when it was begun, which decides on the month that it counts for, not when it was asked for', async (t) => {
  const requestedAt = (stream: string) => history.find((event) => event.stream === stream)?.time
  const begun = history.find(
    ({ type, stream, time, data }) =>
      type === 'MessageBegun' && time !== requestedAt(stream) && some.some(({ id }) => id === data.contact_id),
  )
  const one = some.find(({ id }) => begun?.type === 'MessageBegun' && id === begun.data.contact_id)
  if (begun === undefined || one === undefined) return t.fail('nobody was written to')
  const stage = await openStage(history)
  await stage.request(one)
  await stage.run()
  const left = (await stage.visible()).find(({ stream }) => stream === begun.stream)
  t.like(left, { type: 'MessageErased', data: { began_at: begun.time } })
})

test('an erasure that is repeated changes nothing', async (t) => {
  const stage = await openStage(history)
  await stage.request(first)
  await stage.run()
  const once = await stage.visible()
  await stage.request(first)
  await stage.run()
  t.deepEqual(await stage.visible(), once)
})

/** Every text within a value. */
const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : []

test.serial('after a scavenge EventStoreDB holds no byte of what was personal to an erased contact', async (t) => {
  const { store, double } = await openEventStoreDb(t)
  const part = history.slice(0, 500)
  const stage = await openErasureStage(store, part)
  const own = streamsOf(part, first)
  const others = JSON.stringify(part.filter(({ stream }) => !own.has(stream)).map(({ data }) => data))
  const texts = part
    .filter(({ stream, type }) => own.has(stream) && ['LeadSubmitted', 'ContactCreated'].includes(type))
    .flatMap(({ data }) => ('details' in data ? textsIn(data.details) : []))
    // What somebody else is called too, or what is part of any text, tells nothing.
    .filter((text) => text.length > 5 && !others.includes(text))
  t.true(texts.length > 0)
  t.deepEqual(texts.filter(double.holds), texts)
  await stage.request(first)
  await stage.run()
  double.scavenge()
  t.deepEqual(texts.filter(double.holds), [])
})

test('a text that is recorded after its contact was erased is erased too, and one of another contact stays', async (t) => {
  const stage = await openStage(history)
  const [one, other] = ['one', 'other'].map((_, index) =>
    history
      .filter((event) => event.type === 'EngagementStarted')
      .find(({ data }) => (data.contact_id === first.id) === (index === 0)),
  )
  if (one?.type !== 'EngagementStarted' || other?.type !== 'EngagementStarted') return t.fail('nobody is engaged')
  await stage.request(first)
  await stage.run()
  for (const [n, { data }] of [one, other].entries()) {
    const { account_id, contact_id, engagement_id } = data
    const ids = { message_id: messageId(9_000 + n), account_id, contact_id, engagement_id }
    const until = { paused_until: at(1), gives_up_at: at(2) }
    const facts = { ...ids, ...until, text: `Written ${n}`, meaning: 'reply' } as const
    await stage.execute(message, ids.message_id, { type: 'ReceiveMessage', facts })
    const byHand = { ...ids, message_id: messageId(9_100 + n) }
    const request = { purpose: 'member', text: `By hand ${n}`, expires_at: at(3) } as const
    await stage.execute(message, byHand.message_id, { type: 'RequestMessage', ids: byHand, request })
  }
  await stage.run()
  const left = JSON.stringify((await stage.visible()).map(({ data }) => data))
  for (const text of ['Written 0', 'By hand 0']) t.false(left.includes(text), text)
  for (const text of ['Written 1', 'By hand 1']) t.true(left.includes(text), text)
})

test('what is stored of an erased text has the fields of its event and no others', async (t) => {
  const stage = await openStage(history)
  await stage.request(first)
  await stage.run()
  const one = history.find(({ type, data }) => type === 'EngagementStarted' && data.contact_id === first.id)
  if (one?.type !== 'EngagementStarted') return t.fail('nobody is engaged')
  const { account_id, contact_id, engagement_id } = one.data
  const ids = { message_id: messageId(9_000), account_id, contact_id, engagement_id }
  const facts = { ...ids, paused_until: at(1), gives_up_at: at(2), text: 'Written', meaning: 'reply' } as const
  await stage.execute(message, ids.message_id, { type: 'ReceiveMessage', facts })
  await stage.run()
  const closed = (await stage.visible()).filter((event) => event.type === 'MessageErased')
  t.true(closed.some(({ data }) => data.message_id === ids.message_id))
  for (const { type, data } of closed) {
    const codec = codecOf(type)
    t.deepEqual(codec && unknownFields(codec, { type, data }), [])
  }
})

test('so is one whose conversation can not be read', async (t) => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const stage = await openErasureStage(store, history)
  const one = history.find(({ type, data }) => type === 'EngagementStarted' && data.contact_id === first.id)
  if (one?.type !== 'EngagementStarted') return t.fail('nobody is engaged')
  await stage.request(first)
  await stage.run()
  const [last] = rightOf(await store.readLast(one.stream, 1))
  const vanished = { ...newEvent(2), type: 'EngagementVanished' } as unknown as ReturnType<typeof newEvent>
  rightOf(await store.append(one.stream, last?.revision ?? 0, [vanished]))
  const { account_id, contact_id, engagement_id } = one.data
  const ids = { message_id: messageId(9_000), account_id, contact_id, engagement_id }
  const facts = { ...ids, paused_until: at(1), gives_up_at: at(2), text: 'Written', meaning: 'reply' } as const
  await stage.execute(message, ids.message_id, { type: 'ReceiveMessage', facts })
  await stage.run()
  const left = rightOf(await store.read(`message-${ids.message_id}`)).events
  t.deepEqual(
    left.map(({ type }) => type),
    ['MessageErased'],
  )
})

test('the message of a step that was about to begin when its contact was erased begins no more', async (t) => {
  const stage = await openStage(history)
  const ids = { account_id: accountId(), contact_id: contactId(9_000), engagement_id: engagementId(9_000) }
  const follow_up = { playbook_version: 1, first_step_at: at() }
  const submit = { type: 'SubmitLead', facts: leadFacts({ ...ids, lead_id: leadId(9_000), follow_up }) } as const
  await stage.execute(lead, leadId(9_000), submit)
  const step = { step: 0, attempt: 1, messageId: messageId(9_000), at: stage.now() }
  await stage.execute(engagement, ids.engagement_id, { type: 'BeginStep', ...step })
  await stage.request({ id: ids.contact_id, accountId: accountId() })
  await stage.run()
  const facts = { ...ids, message_id: messageId(9_000), step: 0 }
  const begin = { type: 'BeginMessage', facts, text: 'About to be written', segments: 1, at: stage.now() } as const
  await stage.execute(message, messageId(9_000), begin)
  t.false(JSON.stringify((await stage.visible()).map(({ data }) => data)).includes(begin.text))
})

test('the retry of a removal tells whether its stream can be read again, which its newest event alone does not', async (t) => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const { run } = await openErasureStage(store, [])
  const stream = `account-${accountId(1)}`
  const vanished = { ...newEvent(2), type: 'AccountVanished' } as unknown as ReturnType<typeof newEvent>
  rightOf(await store.append(stream, 'no-stream', [newEvent(1), vanished, newEvent(3)]))
  const of = { process_manager: 'eraser', parked_event_id: parkedEventId(1) }
  const newest = { event_id: uuid(3), event_type: 'AccountEnabled', event_stream: stream, event_revision: 2 }
  const parked = newEvent(4, { type: 'EventParked', data: { ...of, ...newest, reason: 'any' } })
  const requested = newEvent(5, { type: 'ParkedEventRetryRequested', data: of })
  const record = `parked-${of.parked_event_id}`
  rightOf(await store.append(record, 'no-stream', [parked, requested]))
  await run()
  const last = rightOf(await store.readLast(record, 1))[0]
  const reason = 'an event has the type AccountVanished, which this version does not know'
  t.like(last, { type: 'ParkedEventRetryFailed', data: { reason } })
})

test('an erasure that is told to stop ends with the page that it works on, however much the contact has', async (t) => {
  const stage = await openStage(history)
  await stage.request(first)
  const stopping = new AbortController()
  let pages = 0
  const find: Documents['find'] = (_, { limit }) => {
    pages += 1
    if (pages === 3) stopping.abort()
    const entry = (n: number) => ({ kind: 'delivery', id: deliveryId(100 * pages + n), order: `${pages} ${n}` })
    const count = pages < 50 ? limit : 0
    return Promise.resolve(
      E.right(Array.from({ length: count }, (_, n) => ({ key: `${pages} ${n}`, document: entry(n) }))),
    )
  }
  await t.throwsAsync(stage.run(atOnce, { stopping: stopping.signal, find }), { any: true, name: 'AbortError' })
  t.is(pages, 3)
  await stage.run()
  t.true((await stage.visible()).some(({ type }) => type === 'ErasureCompleted'))
})

class Crash extends Error {}

/** Crashes at the `nth` write, before or after it was done. */
const crashingAt = (nth: number, isDone: boolean): Steps => {
  let left = nth
  return {
    ...atOnce,
    write: (_of, put) => {
      left -= 1
      if (left >= 0) return Promise.resolve(put())
      if (left === -1 && isDone) put()
      return Promise.reject(new Crash())
    },
  }
}

test('wherever it crashes, an erasure that goes on ends as one that was never interrupted', async (t) => {
  const shapeOf = (events: History) =>
    events.map(({ type, stream, data }) => JSON.stringify({ type, stream, data })).toSorted()
  const straight = await openStage(history)
  await straight.request(first)
  await straight.run()
  const expected = shapeOf(await straight.visible())
  await holdsAsync(
    t,
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(40), fc.boolean()), { maxLength: 4 }), async (crashes) => {
      const stage = await openStage(history)
      await stage.request(first)
      for (const [nth, isDone] of crashes) await stage.run(crashingAt(nth, isDone)).catch(() => undefined)
      await stage.run()
      assert.deepEqual(shapeOf(await stage.visible()), expected)
    }),
    { numRuns: 25 },
  )
})
