import test, { type ExecutionContext } from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import type { EventOf, RecordedEvent } from '../../../domain/events.js'
import { parkedEventIdOf } from '../../../domain/derived-id.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import type { CommandHandler, EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { errorOf } from '../../../projections/parking/final-failure.js'
import { parking } from '../../../projections/parking/parking.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import { newEvent, newEvents } from '../../kit/domain/new-events.js'
import { positionAt, uuid } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { countedReads } from '../../kit/parts/counted-reads.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { nextTurn, settled } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

type Work = (event: RecordedEvent, isRetry: boolean) => Promise<void>

/** A process manager that follows accounts: `work` may throw whatever it likes. */
const openStage = (t: ExecutionContext, work: Work, isAway: () => boolean = () => false, unreadable?: string) => {
  const { store, taken } = countedReads(memoryEventStore(memoryLog()))
  const logger = recordingLogger()
  const stored = sharedHandler(store, systemClock(1))
  const commandHandler: CommandHandler = {
    load: stored.load,
    execute: (...args) => {
      if (isAway()) return Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' }))
      const [, id] = args
      if (id === unreadable) return Promise.resolve(E.left({ kind: 'corrupt', reason: 'it can not be read' }))
      return stored.execute(...args)
    },
  }
  const { handle, skip } = parking(
    { name: 'a_process_manager', actor: 'test', work },
    { store, commandHandler, logger },
  )
  const following = follow(
    {
      name: 'a_process_manager',
      categories: ['account', 'parked'],
      begin: () => Promise.resolve(beginning),
      handle: async ({ events }) => {
        for (const event of events) await handle(event)
      },
      skip,
    },
    { store, logger, backoff: nextTurn },
  )
  t.teardown(following.stop)
  return { store, taken, stored, logger, following }
}

const write = async (store: EventStore, n: number, type = 'AccountEnabled'): Promise<void> => {
  const event = { ...newEvent(n), type } as ReturnType<typeof newEvent>
  rightOf(await store.append(`account-${n}`, 'no-stream', [event]))
}

const parkedIn = async (store: EventStore) => {
  const parked: Array<EventOf<'EventParked'>> = []
  for await (const { events } of store.history(beginning, ['parked'], neverAborted))
    for (const event of events) if (event.type === 'EventParked') parked.push(event)
  return parked
}

const failures: ReadonlyArray<readonly [title: string, error: unknown, reason: string]> = [
  ['an exception inside a rule', new RangeError('ada@example.com is out of range'), 'an exception (RangeError)'],
  ['what is no error at all', 'ada@example.com', 'an exception (string)'],
  ['a refusal', errorOf('a command', { kind: 'contact-not-found' }), 'contact-not-found'],
  [
    'a corrupt stream',
    new StoreFailed({ kind: 'corrupt', reason: 'LeadSubmitted is not known' }),
    'LeadSubmitted is not known',
  ],
]

for (const [title, error, reason] of failures) {
  test(`${title} parks the event that met it, once, and the others are handled`, async (t) => {
    const handled: Array<string> = []
    const { store, logger, following } = openStage(t, ({ id, stream }) => {
      if (stream === 'account-2') throw error
      handled.push(id)
      return Promise.resolve()
    })
    for (let n = 1; n <= 3; n += 1) await write(store, n)
    await following.caughtUpTo(positionAt(4), neverAborted)
    t.deepEqual(handled, [uuid(1), uuid(3)])
    const parked = await parkedIn(store)
    t.is(parked.length, 1)
    const { parked_event_id, ...facts } = parked[0]?.data ?? {}
    t.deepEqual(facts, {
      process_manager: 'a_process_manager',
      event_id: uuid(2),
      event_type: 'AccountEnabled',
      event_stream: 'account-2',
      event_revision: 0,
      reason,
    })
    t.regex(parked_event_id ?? '', /^prk_/)
    t.is(following.failure(), undefined)
    t.is(following.retrying(), undefined)
    t.false(JSON.stringify([logger.lines, parked.map(({ data }) => data)]).includes('ada@example.com'))
  })
}

test('an event whose record of being parked can not be read is parked anew, once, and what stands behind it is handled', async (t) => {
  const handled: Array<string> = []
  const unreadable = parkedEventIdOf('a_process_manager', uuid(2))
  const { store, following } = openStage(
    t,
    ({ id, stream }) => {
      if (stream === 'account-2') throw new RangeError()
      handled.push(id)
      return Promise.resolve()
    },
    () => false,
    unreadable,
  )
  for (let n = 1; n <= 3; n += 1) await write(store, n)
  await following.caughtUpTo(positionAt(4), neverAborted)
  t.deepEqual(handled, [uuid(1), uuid(3)])
  const ids = (await parkedIn(store)).map(({ data }) => data.parked_event_id)
  t.deepEqual(ids, [parkedEventIdOf('a_process_manager', unreadable)])
})

test('an event that can not be decoded is parked, and what stands behind it is handled', async (t) => {
  const handled: Array<string> = []
  const { store, following } = openStage(t, ({ id }) => {
    handled.push(id)
    return Promise.resolve()
  })
  await write(store, 1)
  await write(store, 2, 'AccountVanished')
  await write(store, 3, 'AccountVanished')
  await write(store, 4)
  await following.caughtUpTo(positionAt(6), neverAborted)
  t.deepEqual(handled, [uuid(1), uuid(4)])
  const reason = 'an event has the type AccountVanished, which this version does not know'
  t.deepEqual(
    (await parkedIn(store)).map(({ data }) => [data.event_id, data.event_type, data.event_revision, data.reason]),
    [
      [uuid(2), 'AccountVanished', 0, reason],
      [uuid(3), 'AccountVanished', 0, reason],
    ],
  )
})

test('a failure that may pass parks nothing: it is tried again, and shows until it has passed', async (t) => {
  const transient = [
    new StoreFailed({ kind: 'unavailable', reason: 'the store is away' }),
    errorOf('a command', { kind: 'contended' }),
  ]
  let seen: ReadonlyArray<string | undefined> = []
  const { store, following } = openStage(t, () => {
    const error = transient.shift()
    if (error !== undefined) throw error
    seen = [following.retrying()]
    return Promise.resolve()
  })
  t.is(following.retrying(), undefined)
  await write(store, 1)
  await following.caughtUpTo(positionAt(1), neverAborted)
  t.deepEqual(seen, ['a command was contended'])
  t.is(following.retrying(), undefined)
  t.deepEqual(await parkedIn(store), [])
})

test('an event that can not be parked now is not passed over', async (t) => {
  let isAway = true
  const { store, following } = openStage(
    t,
    () => Promise.reject(new TypeError('never')),
    () => isAway,
  )
  await write(store, 1)
  await settled()
  t.is(following.position(), beginning)
  t.is(following.retrying(), 'the parking of an event: away')
  isAway = false
  await following.caughtUpTo(positionAt(1), neverAborted)
  t.is((await parkedIn(store)).length, 1)
  t.is(following.retrying(), undefined)
})

test('a parked event is tried again by its process manager alone, and recorded as it ends', async (t) => {
  const retries: Array<boolean> = []
  let isMended = false
  const { store, stored, following } = openStage(t, (_, isRetry) => {
    retries.push(isRetry)
    return isMended ? Promise.resolve() : Promise.reject(new TypeError('never'))
  })
  await write(store, 1)
  await following.caughtUpTo(positionAt(2), neverAborted)
  const id = (await parkedIn(store))[0]?.data.parked_event_id ?? 'none'
  let n = 100
  const envelope = { actor: 'operator', eventId: () => uuid((n += 1)) }
  const retry = async (kind: string): Promise<void> => {
    rightOf(await stored.execute(parkedEvent, id, { type: 'RequestRetry' }, envelope))
    const state = async (): Promise<string> => rightOf(await stored.load(parkedEvent, id)).state.kind
    t.is(await until('the retry is over', 30_000, state, (now) => now !== 'retrying'), kind)
  }
  await retry('parked')
  t.deepEqual(retries, [false, true])
  isMended = true
  await retry('handled')
  t.deepEqual(retries, [false, true, true])

  const facts = { process_manager: 'another', event_id: uuid(1), event_type: 'AccountEnabled' }
  const other = 'prk_00000000000000000000000009'
  const all = { ...facts, parked_event_id: other, event_stream: 'account-1', reason: 'any' } as const
  rightOf(await stored.execute(parkedEvent, other, { type: 'ParkEvent', facts: all }, envelope))
  const { events } = rightOf(await stored.execute(parkedEvent, other, { type: 'RequestRetry' }, envelope))
  await following.caughtUpTo(events[0]?.position ?? beginning, neverAborted)
  t.is(rightOf(await stored.load(parkedEvent, other)).state.kind, 'retrying')
  t.is(retries.length, 3)
})

/** A stage on which the event of this number fails once, and stands in a stream of 2,000. */
const openLongStream = async (t: ExecutionContext, failing: number) => {
  const tried: Array<string> = []
  let mayFail = true
  const stage = openStage(t, ({ id }) => {
    if (id !== uuid(failing)) return Promise.resolve()
    if (mayFail) throw new TypeError('never')
    tried.push(id)
    return Promise.resolve()
  })
  const { store, stored } = stage
  rightOf(await store.append('account-1', 'no-stream', newEvents(1_000)))
  rightOf(await store.append('account-1', 999, newEvents(1_000, 1_001)))
  await until('the event is parked', 10_000, async () => (await parkedIn(store)).length === 1)
  mayFail = false
  const envelope = { actor: 'operator', eventId: () => uuid(9_000) }
  return {
    ...stage,
    tried,
    envelope,
    /** Resolves with what the retry has read of the stream. */
    retry: async (id: string) => {
      stage.taken()
      rightOf(await stored.execute(parkedEvent, id, { type: 'RequestRetry' }, envelope))
      const state = async (): Promise<string> => rightOf(await stored.load(parkedEvent, id)).state.kind
      await until('it is handled', 10_000, async () => (await state()) === 'handled')
      return stage.taken('account-')
    },
  }
}

test('a retry reads the event that was parked, however long its stream is', async (t) => {
  const { store, tried, retry } = await openLongStream(t, 1_500)
  const read = await retry((await parkedIn(store))[0]?.data.parked_event_id ?? 'none')
  t.deepEqual(tried, [uuid(1_500)])
  t.like(read, { calls: 1, events: 1 })
})

test('what an older version parked does not tell where its event stands: its retry looks for it page by page', async (t) => {
  const { store, stored, envelope, tried, retry } = await openLongStream(t, 700)
  const { event_revision: _, ...facts } = (await parkedIn(store))[0]?.data ?? t.fail('nothing is parked')
  const id = 'prk_00000000000000000000000009'
  const older = { type: 'ParkEvent', facts: { ...facts, parked_event_id: id } } as const
  rightOf(await stored.execute(parkedEvent, id, older, { ...envelope, eventId: () => uuid(9_001) }))
  const read = await retry(id)
  t.deepEqual(tried, [uuid(700)])
  t.like(read, { calls: 2, events: 1_000 })
})

test('a retry whose own record can not be decoded holds up nobody', async (t) => {
  const handled: Array<string> = []
  const { store, logger, following } = openStage(t, ({ id }) => {
    handled.push(id)
    return Promise.resolve()
  })
  await write(store, 1)
  const parked_event_id = 'prk_00000000000000000000000009'
  const process_manager = 'a_process_manager'
  const facts = { process_manager, event_id: uuid(1), event_type: 'AccountEnabled', event_stream: 'account-1' }
  const recorded = [
    newEvent(11, { type: 'EventParked', data: { ...facts, parked_event_id, reason: 'any' } }),
    newEvent(12, { type: 'ParkedEventRetryRequested', data: { parked_event_id, process_manager } }),
    // As a newer version wrote it, which was taken back since.
    { ...newEvent(13), type: 'ParkedEventForgotten' } as unknown as ReturnType<typeof newEvent>,
  ] as const
  rightOf(await store.append(`parked-${parked_event_id}`, 'no-stream', recorded))
  await write(store, 2)
  await until('the event behind it is handled', 10_000, () => handled.includes(uuid(2)))
  t.is(following.retrying(), undefined)
  const told = logger.lines.filter(({ message }) => message === 'a retry can not be read')
  t.deepEqual(
    told.map(({ fields }) => fields['parked']),
    [parked_event_id],
  )
})

test('what was erased since it was parked needs no retry any more', async (t) => {
  const { store, stored, following } = openStage(t, () => Promise.reject(new TypeError('never')))
  await write(store, 1)
  await following.caughtUpTo(positionAt(2), neverAborted)
  const id = (await parkedIn(store))[0]?.data.parked_event_id ?? 'none'
  rightOf(await store.append('account-1', 0, [newEvent(2)]))
  rightOf(await store.truncate('account-1', 1))
  const envelope = { actor: 'operator', eventId: () => uuid(100) }
  const { events } = rightOf(await stored.execute(parkedEvent, id, { type: 'RequestRetry' }, envelope))
  await following.caughtUpTo(events[0]?.position ?? beginning, neverAborted)
  const state = async (): Promise<string> => rightOf(await stored.load(parkedEvent, id)).state.kind
  t.is(await until('the retry is over', 30_000, state, (now) => now !== 'retrying'), 'handled')
})
