import test, { type ExecutionContext } from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import { delivery } from '../../../domain/delivery.js'
import { parkedEventIdOf } from '../../../domain/derived-id.js'
import { beginning } from '../../../domain/event.js'
import type { ParkedEventId } from '../../../domain/ids.js'
import { parkedEvent, type ParkedEventFacts } from '../../../domain/parked-event.js'
import type { EventStore, StoreFailure } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { resend } from '../../../domain/resend.js'
import { streamOf } from '../../../domain/stream-name.js'
import { webhook } from '../../../domain/webhook.js'
import { accountId, at, deliveryId, resendId, uuid, webhookId } from '../../kit/domain/samples.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import {
  delivered,
  numberOf,
  openStage,
  refused,
  turnOff,
  turnOn,
  upTo,
  type Answer,
} from '../../kit/parts/delivery-stage.js'
import { rightOf } from '../../kit/right-of.js'
import { settled } from '../../kit/time/turns.js'

const corrupt: StoreFailure = { kind: 'corrupt', reason: 'it is refused' }
const away: StoreFailure = { kind: 'unavailable', reason: 'away' }

/** In the message of an exception. */
const phone = '+14155550123'

const deliveryStream = (n: number): string => streamOf(delivery, deliveryId(n))

/**
 * A store that fails in streams of the test's choice, and whoever asks for a retry of what was parked because of that.
 */
const openSpoiled = async (t: ExecutionContext, answer: Answer = () => Promise.resolve(delivered)) => {
  const appends = new Map<string, StoreFailure>()
  const reads = new Map<string, StoreFailure>()
  let refusals = 0
  const spoiled = (store: EventStore): EventStore => ({
    ...store,
    append: (stream, ...rest) => {
      const failure = rest[0] === 'no-stream' ? appends.get(stream.split('-')[0] ?? '') : appends.get(stream)
      return failure === undefined ? store.append(stream, ...rest) : Promise.resolve(E.left(failure))
    },
    read: (stream, ...range) => {
      const failure = reads.get(stream)
      if (failure !== undefined) refusals += 1
      return failure === undefined ? store.read(stream, ...range) : Promise.resolve(E.left(failure))
    },
  })
  const stage = await openStage(spoiled)
  t.teardown(stage.close)
  const { store, clock, until } = stage
  const handler = sharedHandler(store, clock)
  const log = async () => {
    const all = []
    for await (const { events } of store.history(beginning, ['parked', 'delivery'], neverAborted)) all.push(...events)
    return all
  }
  const parked = async (): Promise<ReadonlyArray<ParkedEventFacts>> =>
    (await log()).flatMap((event) => (event.type === 'EventParked' ? [event.data] : []))
  /** What was recorded of the one that was parked. */
  const recorded = async (id: ParkedEventId) =>
    rightOf(await store.read(streamOf(parkedEvent, id))).events.map(({ type }) => type)
  let n = 500
  const request = async (id: ParkedEventId): Promise<void> => {
    const envelope = { actor: 'operator', eventId: () => uuid((n += 1)) }
    rightOf(await handler.execute(parkedEvent, id, { type: 'RequestRetry' }, envelope))
  }
  return {
    ...stage,
    appends,
    reads,
    /** Reads that failed. */
    refusals: () => refusals,
    log,
    parked,
    recorded,
    request,
    /** Resolves once `count` events are parked, with the newest of them. */
    parkedOne: async (count = 1): Promise<ParkedEventFacts> => {
      await until(async () => (await parked()).length === count)
      const one = (await parked()).at(-1)
      if (one === undefined) throw new Error('nothing is parked')
      return one
    },
    /** Asks for a retry, and resolves with how it ended. */
    retry: async (id: ParkedEventId) => {
      await request(id)
      await until(async () => (await recorded(id)).at(-1) !== 'ParkedEventRetryRequested')
      return (await recorded(id)).at(-1)
    },
    work: () => {
      const opened = stage.openWorker(answer)
      opened.follow()
      return opened
    },
  }
}

test('a delivery whose attempt outcome can never be recorded is not posted again and again, but parked, and tried again when somebody asks', async (t) => {
  const { appends, project, addWebhook, makeDue, work, until, state, parked, parkedOne, retry, log, recorded } =
    await openSpoiled(t)
  appends.set(deliveryStream(1), corrupt)
  project()
  const { holdAll, sent } = work()
  holdAll()
  await addWebhook(1)
  for (const n of [1, 2, 3]) await makeDue(n, 1)
  await until(async () => (await state(2)).kind === 'succeeded' && (await state(3)).kind === 'succeeded')
  const { parked_event_id: id, ...facts } = await parkedOne()
  await settled()
  t.deepEqual(sent.map(numberOf).toSorted(), [1, 2, 3])
  const worker = { process_manager: 'delivery_worker', event_stream: deliveryStream(1) }
  t.like(facts, { ...worker, event_type: 'DeliveryDue', reason: 'it is refused' })

  t.is(await retry(id), 'ParkedEventRetryFailed')
  t.is(sent.length, 4, 'it was tried before that was recorded')
  await settled()
  t.is(sent.length, 4)
  t.is((await parked()).length, 1)

  appends.clear()
  t.is(await retry(id), 'ParkedEventHandled')
  t.is(sent.length, 5)
  t.deepEqual(
    (await log()).slice(-3).map(({ type }) => type),
    ['ParkedEventRetryRequested', 'DeliverySucceeded', 'ParkedEventHandled'],
  )
  t.is((await recorded(id)).length, 5)
})

test('the retry of a delivery that was erased since is answered, as nothing is left to be posted', async (t) => {
  const { appends, project, store, clock, addWebhook, makeDue, work, parkedOne, retry } = await openSpoiled(t)
  appends.set(deliveryStream(1), corrupt)
  project()
  const { holdAll, sent } = work()
  holdAll()
  await addWebhook(1)
  await makeDue(1, 1)
  const { parked_event_id: id } = await parkedOne()
  appends.clear()
  const history = [{ type: 'DeliveryDue', at: at() }]
  const command = { type: 'EraseDelivery', why: 'contact-erased', at: at(), createdAt: at(), history } as const
  const envelope = { actor: 'eraser', eventId: () => uuid(900) }
  const { events } = rightOf(await sharedHandler(store, clock).execute(delivery, deliveryId(1), command, envelope))
  rightOf(await store.truncate(deliveryStream(1), events[0]?.revision ?? 0))
  t.is(await retry(id), 'ParkedEventHandled')
  t.is(sent.length, 1)
})

test('a delivery whose parking record is unreadable is parked under a new one: it is posted once, and can be retried', async (t) => {
  const { appends, reads, store, project, addWebhook, makeDue, work, until, state, parkedOne, retry } =
    await openSpoiled(t)
  appends.set(deliveryStream(1), corrupt)
  project()
  await addWebhook(1)
  await makeDue(1, 1)
  const [newest] = rightOf(await store.readLast(deliveryStream(1), 1))
  const unreadable = parkedEventIdOf('delivery_worker', newest?.id ?? '')
  reads.set(streamOf(parkedEvent, unreadable), corrupt)
  const { holdAll, sent } = work()
  holdAll()
  const { parked_event_id: id } = await parkedOne()
  t.is(id, parkedEventIdOf('delivery_worker', unreadable))
  await makeDue(2, 1)
  await until(async () => (await state(2)).kind === 'succeeded')
  await settled()
  t.deepEqual(sent.map(numberOf).toSorted(), [1, 2])
  appends.clear()
  t.is(await retry(id), 'ParkedEventHandled')
  t.is((await state(1)).kind, 'succeeded')
})

test('a retry that died with its process is answered by the next one, and may be asked for again', async (t) => {
  const { appends, project, addWebhook, makeDue, work, until, state, parkedOne, request, recorded, retry } =
    await openSpoiled(t)
  appends.set(deliveryStream(1), corrupt)
  project()
  const first = work().hold(1)
  await addWebhook(1)
  await makeDue(1, 1)
  const { parked_event_id: id } = await parkedOne()
  first.recall()
  await first.done

  await request(id)
  const second = work().hold(1)
  await until(async () => (await recorded(id)).at(-1) === 'ParkedEventRetryFailed')
  second.recall()
  await second.done

  await request(id)
  appends.clear()
  const { hold, sent } = work()
  hold(1)
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(await retry(id), 'ParkedEventHandled')
  await settled()
  t.is(sent.length, 1)
})

test('a webhook that can not be read is parked once, and the deliveries of another go on', async (t) => {
  const { reads, project, addWebhook, makeDue, work, until, state, parked, parkedOne, retry } = await openSpoiled(t)
  const stream = streamOf(webhook, webhookId(1))
  project()
  const { holdAll, sent } = work()
  await addWebhook(1)
  await addWebhook(2)
  reads.set(stream, corrupt)
  for (const n of upTo(40)) await makeDue(n, n <= 20 ? 1 : 2)
  holdAll()
  const areDelivered = async (first: number, last: number): Promise<boolean> => {
    for (let n = first; n <= last; n += 1) if ((await state(n)).kind !== 'succeeded') return false
    return true
  }
  await until(() => areDelivered(21, 40))
  const { parked_event_id: id, ...facts } = await parkedOne()
  t.like(facts, { process_manager: 'delivery_worker', event_stream: stream, event_type: 'WebhookAdded' })
  t.is(await retry(id), 'ParkedEventRetryFailed')
  await settled()
  t.is((await parked()).length, 1)
  t.true(sent.every((request) => numberOf(request) > 20))

  reads.clear()
  t.is(await retry(id), 'ParkedEventHandled')
  await until(() => areDelivered(1, 20))
  t.is(sent.length, 40)

  reads.set(stream, corrupt)
  await makeDue(41, 1)
  await parkedOne(2)
})

test('what is set aside keeps nothing else of its webhook from being held, nor from being given up', async (t) => {
  const { appends, project, addWebhook, change, makeDue, work, until, state, parkedOne } = await openSpoiled(t)
  appends.set(deliveryStream(1), corrupt)
  project()
  work().holdAll()
  await addWebhook(1)
  await makeDue(1, 1)
  await parkedOne()
  await change(1, turnOff)
  for (const n of [2, 3]) await makeDue(n, 1)
  await until(async () => (await state(2)).kind === 'held' && (await state(3)).kind === 'held')
  await change(1, { type: 'RemoveWebhook', accountId: accountId() })
  await until(async () => (await state(2)).kind === 'abandoned' && (await state(3)).kind === 'abandoned')
  t.is((await state(1)).kind, 'due')
})

test('what is set aside of a webhook that was removed is not tried again when more comes for that webhook', async (t) => {
  const { reads, addWebhook, change, makeDue, project, caughtUp, work, until, state, parkedOne, refusals } =
    await openSpoiled(t)
  await addWebhook(1)
  await makeDue(1, 1, 2)
  await change(1, { type: 'RemoveWebhook', accountId: accountId() })
  reads.set(deliveryStream(1), corrupt)
  project()
  await caughtUp()
  work().holdAll()
  await parkedOne()
  await settled()
  const before = refusals()
  await makeDue(2, 1)
  await until(async () => (await state(2)).kind === 'abandoned')
  await settled()
  t.true(before > 0)
  t.is(refusals(), before)
})

test('a bulk resend is complete although one of its deliveries is set aside', async (t) => {
  let spoil = (): void => undefined
  const stage = await openSpoiled(t, (request) => {
    if (numberOf(request) === 1) spoil()
    return Promise.resolve(delivered)
  })
  const { appends, project, addWebhook, makeDue, failAttempts, resend, resendState, work, until, state, parkedOne } =
    stage
  spoil = () => void appends.set(deliveryStream(1), corrupt)
  project()
  await addWebhook(1)
  for (const n of [1, 2, 3]) {
    await makeDue(n, 1)
    await failAttempts(n)
  }
  const { holdAll, sent } = work()
  holdAll()
  const ids = { resendId: resendId(), accountId: accountId(), webhookId: webhookId() }
  await resend(1, { type: 'StartResend', ...ids, from: at(), to: at(1_000) })
  await until(async () => (await resendState(1)) === 'completed')
  t.is((await parkedOne()).event_type, 'DeliveryResendRequested')
  for (const n of [2, 3]) t.is((await state(n)).kind, 'succeeded')
  t.deepEqual(sent.map(numberOf).toSorted(), [1, 2, 3])
})

/** What succeeded is asked for once more, and that is set aside. */
const openResendSetAside = async (t: ExecutionContext) => {
  const stage = await openSpoiled(t)
  const { appends, clock, project, addWebhook, makeDue, tell, work, until, state, parkedOne } = stage
  project()
  const { holdAll, sent } = work()
  holdAll()
  await addWebhook(1)
  await makeDue(1, 1)
  await until(async () => (await state(1)).kind === 'succeeded')
  await tell(1, { type: 'RequestResend', resendId: null, dueAt: clock.now() })
  appends.set(deliveryStream(1), corrupt)
  return { ...stage, sent, parkedResend: await parkedOne() }
}

test('a resend that was set aside is a resend when it is tried again', async (t) => {
  const { appends, sent, parkedResend, retry, log } = await openResendSetAside(t)
  t.is(parkedResend.event_type, 'DeliveryResendRequested')
  appends.clear()
  t.is(await retry(parkedResend.parked_event_id), 'ParkedEventHandled')
  t.is(sent.length, 3)
  const ends = (await log()).map(({ type }) => type).filter((type) => type.startsWith('Delivery'))
  t.deepEqual(ends, ['DeliveryDue', 'DeliverySucceeded', 'DeliveryResendRequested', 'DeliveryResent'])
})

test('a resend that was set aside is answered only once it was tried again, and stays parked where that fails', async (t) => {
  const { sent, parkedResend, retry } = await openResendSetAside(t)
  t.is(await retry(parkedResend.parked_event_id), 'ParkedEventRetryFailed')
  t.is(sent.length, 3)
})

test('what can not be parked at once is parked as soon as the store takes it, and not posted meanwhile', async (t) => {
  const { appends, project, addWebhook, makeDue, work, until, parked, parkedOne, retry } = await openSpoiled(t)
  appends.set(deliveryStream(1), corrupt).set('parked', away)
  project()
  const { holdAll, sent, retrying } = work()
  holdAll()
  await addWebhook(1)
  await makeDue(1, 1)
  await until(() => sent.length === 1)
  await settled()
  t.deepEqual(await parked(), [])
  t.is(retrying(), 'away', 'health tells of it meanwhile')
  appends.delete('parked')
  const { parked_event_id: id } = await parkedOne()
  t.is(sent.length, 1)
  await until(() => retrying() === undefined)
  appends.clear()
  t.is(await retry(id), 'ParkedEventHandled')
})

test('an exception that passes is no reason to park anything: the delivery is tried again', async (t) => {
  let failures = 4
  const answer: Answer = () =>
    (failures -= 1) >= 0 ? Promise.reject(new TypeError('never')) : Promise.resolve(delivered)
  const { project, addWebhook, makeDue, work, until, state, parked } = await openSpoiled(t, answer)
  project()
  const { holdAll, sent } = work()
  holdAll()
  await addWebhook(1)
  await makeDue(1, 1)
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 5)
  t.deepEqual(await parked(), [])
})

test('a delivery that throws each time is parked and no longer posted, and the others of its webhook go on', async (t) => {
  let isBroken = true
  const answer: Answer = (request) =>
    isBroken && numberOf(request) === 1
      ? Promise.reject(new TypeError(`${phone} is no number`))
      : Promise.resolve(delivered)
  const { project, addWebhook, makeDue, work, until, state, parked, parkedOne, retry } = await openSpoiled(t, answer)
  project()
  const { holdAll, sent, lines } = work()
  holdAll()
  await addWebhook(1)
  for (const n of [1, 2, 3]) await makeDue(n, 1)
  const { parked_event_id: id, ...facts } = await parkedOne()
  const worker = { process_manager: 'delivery_worker', event_stream: deliveryStream(1) }
  t.like(facts, worker)
  t.regex(facts.reason, /^an exception \(TypeError at projections\/delivery\/[a-z/-]+\.[jt]s:\d+\)$/)
  t.true(lines.some(({ message }) => message === 'an attempt could not be recorded'))
  await until(async () => (await state(2)).kind === 'succeeded' && (await state(3)).kind === 'succeeded')
  await settled()
  const attempts = (): number => sent.filter((request) => numberOf(request) === 1).length
  t.is(attempts(), 5)

  t.is(await retry(id), 'ParkedEventRetryFailed')
  await settled()
  t.is(attempts(), 6)
  t.is((await parked()).length, 1)

  isBroken = false
  t.is(await retry(id), 'ParkedEventHandled')
  t.is((await state(1)).kind, 'succeeded')
  t.false(JSON.stringify([lines, await parked()]).includes(phone))
})

test('a store that is away however often is no reason to park anything', async (t) => {
  const { reads, project, addWebhook, makeDue, work, until, state, parked } = await openSpoiled(t)
  project()
  await addWebhook(1)
  await makeDue(1, 1)
  reads.set(deliveryStream(1), away)
  const { holdAll, loaded, sent, retrying } = work()
  holdAll()
  t.is(retrying(), undefined)
  await until(() => loaded.has(deliveryStream(1)) && retrying() !== undefined)
  for (let turn = 0; turn < 20; turn += 1) await settled()
  t.deepEqual(await parked(), [])
  t.is(retrying(), 'away', 'health tells of it meanwhile')
  reads.clear()
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 1)
  await until(() => retrying() === undefined)
})

/** Forty deliveries to a webhook that is off, which are held, or have failed; and a worker of its shard. */
const openBacklog = async (t: ExecutionContext, were: 'held' | 'failed', answer?: Answer) => {
  const stage = await openSpoiled(t, answer)
  const { project, caughtUp, addWebhook, change, makeDue, failAttempts, clock, until, work } = stage
  project()
  await addWebhook(1)
  await change(1, turnOff)
  for (const n of upTo(40)) {
    await makeDue(n, 1, 2)
    if (were === 'failed') await failAttempts(n)
  }
  await caughtUp()
  const opened = work()
  const distinct = (): number => new Set(opened.sent.map(numberOf)).size
  return {
    ...stage,
    ...opened,
    distinct,
    /** Resolves once so many of them were posted; the clock goes on meanwhile. */
    posted: (count: number) =>
      until(() => {
        clock.toNextTimer()
        return distinct() >= count
      }),
  }
}

for (const [what, spoil] of [
  ['can not be read', ({ reads }) => reads],
  ['never takes what is to be recorded', ({ appends }) => appends],
] as ReadonlyArray<readonly [string, (stage: Awaited<ReturnType<typeof openSpoiled>>) => Map<string, StoreFailure>]>) {
  test(`a webhook that is turned on catches up although a delivery ${what}, and with that too once it is tried again`, async (t) => {
    const stage = await openBacklog(t, 'held')
    const { hold, change, distinct, posted, parkedOne, retry, retrying, state, until } = stage
    const spoilt = spoil(stage)
    spoilt.set(deliveryStream(1), corrupt)
    hold(1)
    await change(1, turnOn(true))
    await posted(39)
    const { parked_event_id: id, ...facts } = await parkedOne()
    t.like(facts, { process_manager: 'delivery_worker', event_stream: deliveryStream(1), reason: 'it is refused' })
    t.is(await retry(id), 'ParkedEventRetryFailed')
    await settled()
    t.is(retrying(), undefined, 'nothing is tried again and again')
    t.is(distinct(), 39)

    spoilt.clear()
    t.is(await retry(id), 'ParkedEventHandled')
    await until(async () => (await state(1)).kind === 'succeeded')
    t.is(distinct(), 40)
    await parkedOne()
  })

  test(`a bulk resend is complete although a delivery ${what}, which may be asked for anew once it is tried again`, async (t) => {
    const stage = await openBacklog(t, 'failed', () => Promise.resolve(refused))
    const { hold, resend: start, resendState, distinct, sent, until, parkedOne, retry, retrying, log } = stage
    const spoilt = spoil(stage)
    spoilt.set(deliveryStream(1), corrupt)
    hold(1)
    const ids = { accountId: accountId(), webhookId: webhookId(), from: at(), to: at(1_000) }
    await start(1, { type: 'StartResend', resendId: resendId(1), ...ids })
    await until(async () => (await resendState(1)) === 'completed')
    t.is(distinct(), 39)
    t.is(sent.length, 39)
    const asked = (await log()).filter(({ type }) => type === 'DeliveryResendRequested')
    t.is(asked.length, 39, 'what could not be asked for is not counted')
    const { parked_event_id: id } = await parkedOne()
    await until(() => retrying() === undefined)

    spoilt.clear()
    t.is(await retry(id), 'ParkedEventHandled')
    await start(2, { type: 'StartResend', resendId: resendId(2), ...ids })
    await until(async () => (await resendState(2)) === 'completed')
    t.is(distinct(), 40)
  })
}

test('where a store is away for single deliveries what was caught up with before is posted all the same', async (t) => {
  const stage = await openBacklog(t, 'held')
  const { hold, change, reads, posted, parked, distinct, until, retrying } = stage
  for (const n of [1, 40]) reads.set(deliveryStream(n), away)
  hold(1)
  await change(1, turnOn(true))
  await posted(38)
  await until(() => retrying() === 'a delivery: away')
  t.is(distinct(), 38)
  t.deepEqual(await parked(), [])
  reads.clear()
  await posted(40)
})

test('a webhook that can not be read is parked by its backlog too, which goes on when it is tried again', async (t) => {
  const stage = await openBacklog(t, 'held')
  const { hold, change, reads, sent, caughtUp, posted, parkedOne, retry, retrying } = stage
  await change(1, turnOn(true))
  await caughtUp()
  const stream = streamOf(webhook, webhookId(1))
  reads.set(stream, corrupt)
  hold(1)
  const { parked_event_id: id, event_stream } = await parkedOne()
  t.is(event_stream, stream)
  t.is(await retry(id), 'ParkedEventRetryFailed')
  await settled()
  t.is(retrying(), undefined)
  t.is(sent.length, 0)
  reads.clear()
  t.is(await retry(id), 'ParkedEventHandled')
  await posted(40)
})

test('a bulk resend that can not be read is parked, and keeps no other of its webhook', async (t) => {
  const stage = await openBacklog(t, 'failed')
  const { hold, resend: start, resendState, reads, distinct, until, parkedOne, retry } = stage
  const ids = { accountId: accountId(), webhookId: webhookId() }
  await start(1, { type: 'StartResend', resendId: resendId(1), ...ids, from: at(), to: at(1_000) })
  reads.set(streamOf(resend, resendId(1)), corrupt)
  await start(2, { type: 'StartResend', resendId: resendId(2), ...ids, from: at(), to: at(1_000) })
  hold(1)
  await until(async () => (await resendState(2)) === 'completed')
  t.is(distinct(), 40)
  const { parked_event_id: id, event_type } = await parkedOne()
  t.is(event_type, 'ResendStarted')
  reads.clear()
  t.is(await retry(id), 'ParkedEventHandled')
  await until(async () => (await resendState(1)) === 'completed')
})
