import test from 'ava'
import { messengerWithoutProvider as outbox } from '../../../../adapters/in-process/messenger-without-provider.js'
import { randomIds } from '../../../../adapters/node/ids.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { beginning } from '../../../../domain/event.js'
import type { DomainEvent, RecordedEvent } from '../../../../domain/events.js'
import { later, type Instant } from '../../../../domain/instant.js'
import type { EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { deliveryRetention } from '../../../../projections/erasure/retention/delivery-retention.js'
import { messageRetention } from '../../../../projections/erasure/retention/message-retention.js'
import { retention } from '../../../../projections/erasure/retention/retention.js'
import { failingWork, type FailingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { anyProjection, changesOf, collectionOf, type AnyProjection } from '../../../../projections/projection.js'
import { deliveries } from '../../../../projections/read-models/deliveries.js'
import { messages } from '../../../../projections/read-models/messages.js'
import { resends } from '../../../../projections/read-models/resends.js'
import { eventfulHistory, type History } from '../../../kit/domain/histories.js'
import { writeHistory } from '../../../kit/domain/lively-history.js'
import { uuid } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { testLease } from '../../../kit/parts/lease.js'
import { project } from '../../../kit/parts/project.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../../kit/time/turns.js'

const history = eventfulHistory(11)
const end = history.at(-1)?.time
if (end === undefined) throw new Error('nothing happened')
const hour = 60 * 60 * 1_000
const day = 24 * 60 * 60 * 1_000

const of = (events: History, type: DomainEvent['type']): History => events.filter((event) => event.type === type)

type Watched = {
  readonly failing?: FailingWork
  readonly logger?: ReturnType<typeof recordingLogger>
  readonly spoilt?: number
}

/**
 * The events of deliveries, or of messages, after sweeps at `now`, by a service that keeps bodies and texts for thirty
 * days, of a store that behaves as `stored` says in the first of them, or in as many as `spoilt` says.
 */
const sweptAt = async (
  now: Instant,
  sweeps = 1,
  stored: (whole: EventStore) => EventStore = (whole) => whole,
  what: 'delivery' | 'message' = 'delivery',
  { failing = failingWork(turnTime, Infinity), logger = recordingLogger(), spoilt = 1 }: Watched = {},
): Promise<History> => {
  const whole = await writeHistory(memoryEventStore(memoryLog()), history)
  const begun = stored(whole)
  let left = sweeps
  const first = <Name extends 'read' | 'readLast' | 'truncate'>(name: Name) =>
    ((...args: Parameters<EventStore[Name]>) =>
      (left > sweeps - spoilt ? begun[name] : whole[name])(...(args as [string, number]))) as EventStore[Name]
  const store: EventStore = { ...whole, read: first('read'), readLast: first('readLast'), truncate: first('truncate') }
  const documents = memoryDocuments(documentState())
  const show = async (projection: AnyProjection): Promise<void> => {
    const collection = collectionOf(projection)
    rightOf(await documents.prepare(collection))
    const events: Array<RecordedEvent> = []
    for await (const batch of whole.history(beginning, projection.categories, neverAborted))
      events.push(...batch.events)
    const keys = events.map((event) => projection.keyOf(event) ?? '')
    const shown = rightOf(await documents.get(collection, keys))
    const head = events.at(-1)?.position ?? beginning
    rightOf(await documents.apply(collection, changesOf(projection, shown, events), head))
  }
  const showAll = async (): Promise<void> => {
    for (const projection of [deliveries, resends, messages].map((one) => one as unknown as AnyProjection))
      await show(projection)
  }
  await showAll()
  const clock = manualClock()
  clock.set(now)
  const lease = testLease('retention')
  let ids = 10_000
  const ports = {
    ...{ store, documents, monotonic: turnTime, messenger: outbox, logger, failingWork: failing },
    commandHandler: sharedHandler(store, clock),
    clock: {
      now: clock.now,
      sleepUntil: async (until: Instant) => {
        // Between two batches of one sweep.
        if (until < later(now, 60_000)) return
        left -= 1
        await showAll()
        if (left === 0) lease.recall()
      },
    },
    ids: { ...randomIds(clock), uuid: () => uuid((ids += 1)) },
    backoff: nextTurn,
    resends: { name: 'resends', failure: () => undefined, caughtUpTo: () => Promise.resolve() },
  }
  if (what === 'delivery') await retention(ports, deliveryRetention(ports), 30).run(lease)
  else await retention(ports, messageRetention(ports), 30).run(lease)
  const events: Array<RecordedEvent> = []
  for await (const batch of whole.history(beginning, [what, 'parked'], neverAborted)) events.push(...batch.events)
  // What others had parked before is no matter here.
  return events.filter(({ stream, actor }) => stream.startsWith(`${what}-`) || actor === 'retention')
}

test('bodies of deliveries that ended longer ago are removed, and those that still wait are kept', async (t) => {
  const left = await sweptAt(later(end, 31 * day))
  const before = project(anyProjection(deliveries), history)
  const waits = (id: string): boolean =>
    ['due', 'held'].includes(String(before[id]?.['state'])) || before[id]?.['resend'] !== undefined
  const ids = Object.keys(before)
  const kept = of(left, 'DeliveryDue').map(({ stream }) => stream.slice('delivery-'.length))
  t.deepEqual(kept.toSorted(), ids.filter(waits).toSorted())
  const erased = of(left, 'DeliveryErased').map(({ stream }) => stream.slice('delivery-'.length))
  t.deepEqual(erased.toSorted(), ids.filter((id) => !waits(id)).toSorted())
  t.true(erased.length > 5 && kept.length > 5, `${erased.length} and ${kept.length}`)
})

test('webhook, label, attempts and times of a delivery outlast its body', async (t) => {
  const before = project(anyProjection(deliveries), history)
  const after = project(anyProjection(deliveries), await sweptAt(later(end, 31 * day)))
  t.deepEqual(Object.keys(after).toSorted(), Object.keys(before).toSorted())
  for (const [id, { webhook_id, label, state, attempts, created_at, last_outcome }] of Object.entries(after))
    t.like(before[id], { webhook_id, label, state, attempts, created_at, last_outcome })
})

test('while the read model is being built it is looked at again soon', async (t) => {
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const documents = memoryDocuments(documentState())
  const clock = manualClock()
  const lease = testLease('retention')
  const waits: Array<Instant> = []
  const ports = {
    ...{ store, documents, monotonic: turnTime, logger: recordingLogger(), ids: randomIds(clock), backoff: nextTurn },
    failingWork: failingWork(turnTime),
    commandHandler: sharedHandler(store, clock),
    clock: {
      now: clock.now,
      sleepUntil: async (until: Instant) => {
        if (until === clock.now()) return
        waits.push(until)
        if (waits.length === 2) lease.recall()
        else rightOf(await documents.prepare(collectionOf(deliveries)))
      },
    },
    resends: { name: 'resends', failure: () => undefined, caughtUpTo: () => Promise.resolve() },
  }
  await retention(ports, deliveryRetention(ports), 30).run(lease)
  t.deepEqual(waits, [later(clock.now(), 10_000), later(clock.now(), hour)])
})

test('nothing is removed before its time', async (t) => {
  const before = history.filter(({ stream }) => stream.startsWith('delivery-'))
  const first = of(history, 'DeliveryDue')[0]?.time
  if (first === undefined) return t.fail('no delivery was due')
  t.deepEqual(await sweptAt(later(first, 29 * day)), before)
})

const away = E.left({ kind: 'unavailable', reason: 'away' } as const)

test('a body whose removal was interrupted is removed by the next sweep', async (t) => {
  const once = await sweptAt(later(end, 31 * day))
  const cut = (whole: EventStore): EventStore => ({ ...whole, truncate: () => Promise.resolve(away) })
  const interrupted = await sweptAt(later(end, 31 * day), 1, cut)
  t.true(of(interrupted, 'DeliveryDue').length > of(once, 'DeliveryDue').length)
  const twice = await sweptAt(later(end, 31 * day), 2, cut)
  const streams = (events: History) => events.map(({ stream, type }) => `${stream} ${type}`).toSorted()
  t.deepEqual(streams(twice), streams(once))
})

const deaf = { ended: () => undefined, reason: () => undefined }

test('a delivery that can not be read keeps no other from being removed, and is parked once', async (t) => {
  const once = of(await sweptAt(later(end, 31 * day)), 'DeliveryErased')
  const [bad] = once
  const reason = 'an event has a type that this version does not know'
  const spoilt = (whole: EventStore): EventStore => ({
    ...whole,
    readLast: (stream, count) =>
      stream === bad?.stream ? Promise.resolve(E.left({ kind: 'corrupt', reason })) : whole.readLast(stream, count),
  })
  const told: Array<unknown> = []
  const failing = { ...deaf, failed: (...[, work]: Parameters<FailingWork['failed']>) => void told.push(work) }
  const logger = recordingLogger()
  const left = await sweptAt(later(end, 31 * day), 1, spoilt, 'delivery', { failing, logger })
  t.is(of(left, 'DeliveryErased').length, once.length - 1)
  const parked = of(left, 'EventParked').map(({ data }) => data)
  t.is(parked.length, 1)
  t.like(parked[0], { process_manager: 'eraser', event_stream: bad?.stream, reason })
  t.deepEqual(told, [], 'the next look is not an early one')
  t.is(logger.lines.filter(({ message }) => message === 'an event was parked').length, 1)
})

test('a removal that throws is parked in the fifth look, and tells of the looks before it ever more rarely', async (t) => {
  const [bad] = of(await sweptAt(later(end, 31 * day)), 'DeliveryErased')
  const throws = (whole: EventStore): EventStore => ({
    ...whole,
    read: (stream, ...part) => {
      if (stream === bad?.stream) throw new TypeError()
      return whole.read(stream, ...part)
    },
  })
  const looks = async (count: number) => {
    const logger = recordingLogger()
    const left = await sweptAt(later(end, 31 * day), count, throws, 'delivery', { logger, spoilt: count })
    const warned = logger.lines.filter(({ message }) => message === 'bodies of deliveries could not all be removed')
    return { parked: of(left, 'EventParked').length, warned: warned.length }
  }
  t.deepEqual(await looks(4), { parked: 0, warned: 3 })
  t.deepEqual(await looks(6), { parked: 1, warned: 3 })
})

test('where the store is away a look ends with its first documents, instead of asking for each of the others', async (t) => {
  const all = of(await sweptAt(later(end, 31 * day)), 'DeliveryErased').length
  let asked = 0
  let looks = 0
  const away = (whole: EventStore): EventStore => ({
    ...whole,
    readLast: () => {
      asked += 1
      return Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' }))
    },
  })
  const failing = { ...failingWork(turnTime), failed: () => void (looks += 1) }
  t.deepEqual(of(await sweptAt(later(end, 31 * day), 1, away, 'delivery', { failing }), 'DeliveryErased'), [])
  t.true(looks > 0 && asked > 0)
  t.true(asked < looks * all, `${asked} of ${looks * all}`)
})

const idIn = (event: { readonly stream: string }): string => event.stream.replace(/^\w+-/, '')

/** By id the message, and whether its conversation has ended. */
const shownMessages = (events: History) => {
  const ended = new Set(of(history, 'EngagementEnded').map(idIn))
  return Object.entries(project(anyProjection(messages), events)).map(([id, document]) => ({
    id,
    document,
    isOver: ended.has(String(document['engagement_id'])),
  }))
}

test('texts of messages are removed once their conversation has ended too, and what figures rest on outlasts them', async (t) => {
  const left = await sweptAt(later(end, 31 * day), 1, undefined, 'message')
  const waits = ['waiting', 'sending', 'erased']
  const before = shownMessages(history)
  const old = before.filter(({ document, isOver }) => isOver && !waits.includes(String(document['state'])))
  const erased = of(left, 'MessageErased').map(idIn)
  t.deepEqual(erased.toSorted(), [...old.map(({ id }) => id), ...of(history, 'MessageErased').map(idIn)].toSorted())
  t.true(erased.length > 5 && before.length > erased.length + 2, `${erased.length} of ${before.length}`)
  const after = new Map(shownMessages(left).map(({ id, document }) => [id, document]))
  for (const { id, document } of old) {
    const { direction, segments, contact_id, engagement_id } = document
    t.like(after.get(id), { direction, segments, contact_id, engagement_id, text: null })
  }
})

test('a text whose removal was interrupted is removed by the next sweep, and none before its time', async (t) => {
  const cut = (whole: EventStore): EventStore => ({ ...whole, truncate: () => Promise.resolve(away) })
  const textsIn = (events: History): number => of(events, 'MessageBegun').length + of(events, 'MessageReceived').length
  const once = textsIn(await sweptAt(later(end, 31 * day), 1, undefined, 'message'))
  t.true(textsIn(await sweptAt(later(end, 31 * day), 1, cut, 'message')) > once)
  t.is(textsIn(await sweptAt(later(end, 31 * day), 2, cut, 'message')), once)
  const first = history[0]?.time ?? end
  t.is(textsIn(await sweptAt(later(first, 29 * day), 1, undefined, 'message')), textsIn(history))
})
