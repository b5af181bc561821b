import test from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { conversion } from '../../../domain/conversion.js'
import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import type { Conflict, CommandHandler, EventStore, NewEvent, StoreFailure } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { positionAt } from '../../kit/domain/samples.js'

type Appending = (stream: string, events: ReadonlyArray<NewEvent>) => StoreFailure | Conflict | undefined

/** One stream a name, in memory; `before` may let another writer in, or fail. */
const memoryStore = (before: Appending = () => undefined) => {
  const streams = new Map<string, Array<RecordedEvent>>()
  let position = 0
  const put = (stream: string, events: ReadonlyArray<NewEvent>): ReadonlyArray<RecordedEvent> => {
    const held = streams.get(stream) ?? []
    streams.set(stream, held)
    const recorded = events.map((event, index) => {
      position += 1
      return { ...event, stream, revision: held.length + index, position: positionAt(position) }
    })
    held.push(...recorded)
    return recorded
  }
  let reads = 0
  const store: Pick<EventStore, 'read' | 'readLast' | 'append'> = {
    readLast: (stream, count) => Promise.resolve(E.right([...(streams.get(stream) ?? [])].slice(-count))),
    read: (stream) => {
      reads += 1
      const events = [...(streams.get(stream) ?? [])]
      return Promise.resolve(E.right({ events, revision: events.at(-1)?.revision ?? 'no-stream' }))
    },
    append: (stream, expected, events) => {
      const failure = before(stream, events)
      const revision = streams.get(stream)?.at(-1)?.revision ?? 'no-stream'
      const wrong: StoreFailure | Conflict | undefined =
        failure ?? (revision === expected ? undefined : { kind: 'conflict' })
      if (wrong !== undefined) return Promise.resolve(E.left(wrong))
      const { revision: last, position: end } = put(stream, events).at(-1) ?? {
        revision: -1,
        position: positionAt(position),
      }
      return Promise.resolve(E.right({ revision: last, position: end }))
    },
  }
  return {
    put,
    length: (stream: string) => streams.get(stream)?.length ?? 0,
    reads: () => reads,
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
  evolve: (count) => count + 1,
  decide: ({ type }, count) => {
    if (type === 'Found') return E.right(count === 0 ? [added] : [])
    return count >= 5 ? E.left({ kind: 'full' }) : E.right([added])
  },
}

let ids = 0
const envelope = () => {
  ids += 1
  const id = ids
  return { actor: 'test', eventId: (index: number) => `${id}-${index}` }
}

const newEvent = (id: string): NewEvent => ({
  ...added,
  id,
  time: systemClock(1).now(),
  correlationId: id,
  causationId: id,
  schemaVersion: 1,
  actor: 'another process',
})

const clock = systemClock(1)

const handlerOn = (store: EventStore): CommandHandler => sharedHandler(store, clock)

test('a command is decided on what its stream holds, and appended to it', async (t) => {
  const { store, put, length } = memoryStore()
  put('account-1', [newEvent('a'), newEvent('b')])
  const done = await handlerOn(store).execute(counter, '1', { type: 'Add' }, envelope())
  t.like(done, { right: { state: 3, events: [{ revision: 2, position: 3n }] } })
  t.is(length('account-1'), 3)
})

test('a conflict is decided again on what another process wrote', async (t) => {
  let others = 2
  const memory = memoryStore((stream) => {
    if (others > 0) {
      others -= 1
      memory.put(stream, [newEvent(`other-${others}`)])
    }
    return undefined
  })
  const commandHandler = handlerOn(memory.store)
  const done = await commandHandler.execute(counter, '1', { type: 'Add' }, envelope())
  t.like(done, { right: { state: 3, events: [{ revision: 2 }] } })
  t.like(await commandHandler.load(counter, '1'), { right: { state: 3 } })
})

test('what another process wrote may turn the decision into a refusal', async (t) => {
  let isFirst = true
  const memory = memoryStore((stream) => {
    if (isFirst) for (let n = 0; n < 5; n += 1) memory.put(stream, [newEvent(`other-${n}`)])
    isFirst = false
    return undefined
  })
  t.deepEqual(
    await handlerOn(memory.store).execute(counter, '1', { type: 'Add' }, envelope()),
    E.left({ kind: 'full' }),
  )
  t.is(memory.length('account-1'), 5)
})

test('where others keep getting in first it gives up, and has written nothing', async (t) => {
  let tries = 0
  const memory = memoryStore((): Conflict => {
    tries += 1
    return { kind: 'conflict' }
  })
  t.deepEqual(
    await handlerOn(memory.store).execute(counter, '1', { type: 'Add' }, envelope()),
    E.left({ kind: 'contended' }),
  )
  t.true(tries > 1 && tries < 10, `${tries}`)
  t.is(memory.length('account-1'), 0)
})

test('a store that fails is reported, and the next command goes through', async (t) => {
  let isDown = true
  const memory = memoryStore(() => (isDown ? { kind: 'unavailable', reason: 'the disk is full' } : undefined))
  const commandHandler = handlerOn(memory.store)
  t.like(await commandHandler.execute(counter, '1', { type: 'Add' }, envelope()), { left: { kind: 'unavailable' } })
  isDown = false
  t.like(await commandHandler.execute(counter, '1', { type: 'Add' }, envelope()), { right: { state: 1 } })
})

test('a hundred commands for one stream at once are decided one after the other', async (t) => {
  const { store, length } = memoryStore()
  const commandHandler = handlerOn(store)
  const done = await Promise.all(
    Array.from({ length: 100 }, () => commandHandler.execute(counter, '1', { type: 'Add' }, envelope())),
  )
  t.is(done.filter(E.isRight).length, 5)
  t.is(done.filter(E.isLeft).length, 95)
  t.is(length('account-1'), 5)
})

test('a command that begins a stream reads nothing, and finds out where the stream is there already', async (t) => {
  const { store, put, length, reads } = memoryStore()
  const found = (id: string) =>
    handlerOn(store).execute(counter, id, { type: 'Found' }, envelope(), newAggregate(counter))
  t.like(await found('1'), { right: { state: 1, events: [{ revision: 0 }] } })
  t.is(reads(), 0)
  put('account-2', [newEvent('a')])
  t.deepEqual(await found('2'), E.right({ state: 1, events: [] }))
  t.is(length('account-2'), 1)
})

test('what is refused, or is so already, is decided on the stream and never on an assumption', async (t) => {
  const { store, put, length } = memoryStore()
  const handler = handlerOn(store)
  put('account-1', [newEvent('a')])
  const full = { state: 5, revision: 4, last: undefined } as const
  t.like(await handler.execute(counter, '1', { type: 'Add' }, envelope(), full), { right: { state: 2 } })
  const known = { state: 1, revision: 0, last: undefined } as const
  t.like(await handler.execute(counter, '2', { type: 'Found' }, envelope(), known), { right: { state: 1 } })
  t.is(length('account-2'), 1)
})

test('an aggregate that was loaded a moment ago spares a read', async (t) => {
  const { store, put, reads } = memoryStore()
  const handler = handlerOn(store)
  put('account-1', [newEvent('a')])
  const loaded = rightOf(await handler.load(counter, '1'))
  t.like(await handler.execute(counter, '1', { type: 'Add' }, envelope(), loaded), { right: { state: 2 } })
  t.is(reads(), 1)
  t.like(
    await handler.execute(counter, '1', { type: 'Add' }, envelope(), loaded),
    { right: { state: 3 } },
    'it is out of date',
  )
})

test('a reaction that runs again is told what it wrote the first time', async (t) => {
  const { store, length } = memoryStore()
  const handler = handlerOn(store)
  const event = { id: 'cause', correlationId: 'chain' }
  const again = { actor: 'reaction', cause: event, eventId: (index: number) => `derived-${index}` }
  const first = rightOf(await handler.execute(counter, '1', { type: 'Found' }, again))
  rightOf(await handler.execute(counter, '1', { type: 'Add' }, envelope()))
  const second = rightOf(await handler.execute(counter, '1', { type: 'Found' }, again))
  t.is(second.state, 2)
  t.deepEqual(
    second.events.map(({ id }) => id),
    first.events.map(({ id }) => id),
  )
  t.is(length('account-1'), 2)
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
  const by = { actor: 'reaction', eventId: () => 'event 2', cause: event }
  t.like(await handlerOn(store).execute(conversion, command.conversionId, command, by), {
    right: { events: [{ id: 'event 2', actor: 'reaction', correlationId: 'chain 1', causationId: 'event 1' }] },
  })
  const alone = { actor: 'operator', eventId: () => 'event 3' }
  const other = { ...command, conversionId: `cnv_${'1'.repeat(26)}` } as const
  t.like(await handlerOn(store).execute(conversion, other.conversionId, other, alone), {
    right: { events: [{ id: 'event 3', correlationId: 'event 3', causationId: 'event 3' }] },
  })
})
