import test from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { dispatcher } from '../../../app/commands/command-handler.js'
import { keptStreams } from '../../../app/commands/aggregate-cache.js'
import { conversion } from '../../../domain/conversion.js'
import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { Recorded } from '../../../domain/event.js'
import type { Conflict, Dispatch, EventStore, NewEvent, StoreFailure } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'

type Appending = (stream: string, events: ReadonlyArray<NewEvent>) => StoreFailure | Conflict | undefined

/** One stream a name, in memory; `before` may let another writer in, or fail. */
const memoryStore = (before: Appending = () => undefined) => {
  const streams = new Map<string, Array<Recorded<DomainEvent>>>()
  let position = 0n
  const put = (stream: string, events: ReadonlyArray<NewEvent>): ReadonlyArray<Recorded<DomainEvent>> => {
    const held = streams.get(stream) ?? []
    streams.set(stream, held)
    const recorded = events.map((event, index) => {
      position += 1n
      return { ...event, stream, revision: held.length + index, position }
    })
    held.push(...recorded)
    return recorded
  }
  const store: Pick<EventStore, 'read' | 'append'> = {
    read: (stream) => {
      const events = [...(streams.get(stream) ?? [])]
      return Promise.resolve(E.right({ events, revision: events.at(-1)?.revision ?? 'no-stream' }))
    },
    append: (stream, expected, events) => {
      const failure = before(stream, events)
      const revision = streams.get(stream)?.at(-1)?.revision ?? 'no-stream'
      const wrong: StoreFailure | Conflict | undefined =
        failure ?? (revision === expected ? undefined : { kind: 'conflict' })
      if (wrong !== undefined) return Promise.resolve(E.left(wrong))
      const { revision: last, position: end } = put(stream, events).at(-1) ?? { revision: -1, position }
      return Promise.resolve(E.right({ revision: last, position: end }))
    },
  }
  return {
    put,
    clear: (stream: string) => streams.delete(stream),
    length: (stream: string) => streams.get(stream)?.length ?? 0,
    store: store as EventStore,
  }
}

type Counter = Decider<
  number,
  { readonly type: 'Add' } | { readonly type: 'Found' },
  DomainEvent,
  { readonly kind: 'full' }
>

const added: DomainEvent = { type: 'AccountEnabled', data: {} }

/** Counts the events of its stream, and takes five. */
const counter: Counter = {
  category: 'account',
  initial: 0,
  founding: new Set(['Found']),
  evolve: (count) => count + 1,
  decide: ({ type }, count) => {
    if (type === 'Found') return E.right(count === 0 ? [added] : [])
    return count >= 5 ? E.left({ kind: 'full' }) : E.right([added])
  },
}

let ids = 0
const cause = () => {
  ids += 1
  const id = ids
  return { actor: 'test', eventId: (index: number) => `${id}-${index}` }
}

const envelope = (id: string): NewEvent => ({
  ...added,
  id,
  time: systemClock(1).now(),
  correlationId: id,
  causationId: id,
  schemaVersion: 1,
  actor: 'another process',
})

/** `isShared`: beside other processes. */
const dispatchOn = (store: EventStore, isShared = false, kept = keptStreams(false)): Dispatch =>
  dispatcher({ store, clock: systemClock(1), kept, isShared })

test('a command is decided on what its stream holds, and appended behind it', async (t) => {
  const { store, put, length } = memoryStore()
  put('account-1', [envelope('a'), envelope('b')])
  const done = await dispatchOn(store).execute(counter, '1', { type: 'Add' }, cause())
  t.like(done, { right: { state: 3, events: [{ revision: 2, position: 3n }] } })
  t.is(length('account-1'), 3)
})

test('a conflict is decided again on what another process wrote', async (t) => {
  let others = 2
  const memory = memoryStore((stream) => {
    if (others > 0) {
      others -= 1
      memory.put(stream, [envelope(`other-${others}`)])
    }
    return undefined
  })
  const dispatch = dispatchOn(memory.store)
  const done = await dispatch.execute(counter, '1', { type: 'Add' }, cause())
  t.like(done, { right: { state: 3, events: [{ revision: 2 }] } })
  t.like(await dispatch.state(counter, '1'), { right: 3 })
})

test('what another process wrote may turn the decision into a refusal', async (t) => {
  let isFirst = true
  const memory = memoryStore((stream) => {
    if (isFirst) for (let n = 0; n < 5; n += 1) memory.put(stream, [envelope(`other-${n}`)])
    isFirst = false
    return undefined
  })
  t.deepEqual(await dispatchOn(memory.store).execute(counter, '1', { type: 'Add' }, cause()), E.left({ kind: 'full' }))
  t.is(memory.length('account-1'), 5)
})

test('where others keep getting in first it gives up, and has written nothing', async (t) => {
  let tries = 0
  const memory = memoryStore((): Conflict => {
    tries += 1
    return { kind: 'conflict' }
  })
  t.deepEqual(
    await dispatchOn(memory.store).execute(counter, '1', { type: 'Add' }, cause()),
    E.left({ kind: 'contended' }),
  )
  t.true(tries > 1 && tries < 10, `${tries}`)
  t.is(memory.length('account-1'), 0)
})

test('a store that fails is reported, and the next command goes through', async (t) => {
  let isDown = true
  const memory = memoryStore(() => (isDown ? { kind: 'unavailable', reason: 'the disk is full' } : undefined))
  const dispatch = dispatchOn(memory.store)
  t.like(await dispatch.execute(counter, '1', { type: 'Add' }, cause()), { left: { kind: 'unavailable' } })
  isDown = false
  t.like(await dispatch.execute(counter, '1', { type: 'Add' }, cause()), { right: { state: 1 } })
})

test('a hundred commands for one stream at once are decided one after the other', async (t) => {
  const { store, length } = memoryStore()
  const dispatch = dispatchOn(store)
  const done = await Promise.all(
    Array.from({ length: 100 }, () => dispatch.execute(counter, '1', { type: 'Add' }, cause())),
  )
  t.is(done.filter(E.isRight).length, 5)
  t.is(done.filter(E.isLeft).length, 95)
  t.is(length('account-1'), 5)
})

test('a founding command on a stream that is there already changes nothing', async (t) => {
  const { store, put, length } = memoryStore()
  put('account-1', [envelope('a')])
  const done = await dispatchOn(store).execute(counter, '1', { type: 'Found' }, cause())
  t.deepEqual(done, E.right({ state: 1, events: [] }))
  t.is(length('account-1'), 1)
})

test('events carry who caused them and the chain that they belong to', async (t) => {
  const { store } = memoryStore()
  const command = {
    type: 'DefineConversion',
    conversionId: `cnv_${'0'.repeat(26)}`,
    accountId: `acc_${'0'.repeat(26)}`,
    title: 'Renewed',
    value: 1,
    label: 'custom_conversion',
  } as const
  const event = { id: 'event 1', correlationId: 'chain 1' }
  const by = { actor: 'reaction', eventId: () => 'event 2', event }
  t.like(await dispatchOn(store).execute(conversion, command.conversionId, command, by), {
    right: { events: [{ id: 'event 2', actor: 'reaction', correlationId: 'chain 1', causationId: 'event 1' }] },
  })
  const alone = { actor: 'operator', eventId: () => 'event 3' }
  const other = { ...command, conversionId: `cnv_${'1'.repeat(26)}` } as const
  t.like(await dispatchOn(store).execute(conversion, other.conversionId, other, alone), {
    right: { events: [{ id: 'event 3', correlationId: 'event 3', causationId: 'event 3' }] },
  })
})

test('beside other processes, what is kept refuses nothing and is no reason to do nothing', async (t) => {
  const { store, put, length } = memoryStore()
  const dispatch = dispatchOn(store, true)
  put('account-1', [envelope('a')])
  for (let n = 0; n < 4; n += 1) t.true(E.isRight(await dispatch.execute(counter, '1', { type: 'Add' }, cause())))
  t.deepEqual(await dispatch.execute(counter, '1', { type: 'Add' }, cause()), E.left({ kind: 'full' }))
  t.is(length('account-1'), 5)

  const erased = memoryStore()
  const beside = dispatchOn(erased.store, true)
  await beside.execute(counter, '1', { type: 'Found' }, cause())
  erased.clear('account-1')
  t.like(await beside.execute(counter, '1', { type: 'Found' }, cause()), { right: { state: 1 } })
  t.is(erased.length('account-1'), 1)
})

test('beside other processes, a state is the one of now, and a recent one where it is enough', async (t) => {
  const { store, put } = memoryStore()
  const dispatch = dispatchOn(store, true)
  put('account-1', [envelope('a')])
  t.deepEqual(await dispatch.state(counter, '1'), E.right(1))
  put('account-1', [envelope('b')])
  t.deepEqual(await dispatch.recent(counter, '1', () => true), E.right(1))
  t.deepEqual(await dispatch.recent(counter, '1', (count) => count > 1), E.right(2))
  put('account-1', [envelope('c')])
  t.deepEqual(await dispatch.state(counter, '1'), E.right(3))
})

test('alone, a stream is read once', async (t) => {
  const { store, put } = memoryStore()
  put('account-1', [envelope('a')])
  let reads = 0
  const counted: EventStore = {
    ...store,
    read: (stream) => {
      reads += 1
      return store.read(stream)
    },
  }
  const dispatch = dispatchOn(counted)
  for (let n = 0; n < 3; n += 1) t.deepEqual(await dispatch.state(counter, '1'), E.right(1))
  t.like(await dispatch.execute(counter, '1', { type: 'Add' }, cause()), { right: { state: 2 } })
  t.deepEqual(await dispatch.recent(counter, '1', () => false), E.right(2))
  t.is(reads, 1)
})

test('events that were seen in the log make what is kept of their streams forgotten', async (t) => {
  const { store, put } = memoryStore()
  const kept = keptStreams(true)
  const dispatch = dispatchOn(store, true, kept)
  const recent = () => dispatch.recent(counter, '1', () => true)
  put('account-1', [envelope('a')])
  await recent()
  const newer = put('account-1', [envelope('b')])
  t.deepEqual(await recent(), E.right(1))
  kept.saw(newer)
  t.deepEqual(await recent(), E.right(2))
  put('account-1', [envelope('c')])
  kept.forgetAll()
  t.deepEqual(await recent(), E.right(3))
})

test('a read that an event overtook is not kept', async (t) => {
  const { store, put } = memoryStore()
  const kept = keptStreams(true)
  put('account-1', [envelope('a')])
  const overtaken: EventStore = {
    ...store,
    read: async (stream) => {
      const before = await store.read(stream)
      kept.saw(put(stream, [envelope('b')]))
      return before
    },
  }
  t.deepEqual(await dispatchOn(overtaken, true, kept).recent(counter, '1', () => true), E.right(1))
  t.deepEqual(await dispatchOn(store, true, kept).recent(counter, '1', () => true), E.right(2))
})
