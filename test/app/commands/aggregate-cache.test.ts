import test, { type ExecutionContext } from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { conversion } from '../../../domain/conversion.js'
import { marketingSource, type MarketingSourceCommand } from '../../../domain/marketing-source.js'
import type { EventStore, StoreFailure } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { cachedHandler } from '../../kit/parts/command-handlers.js'
import { openSqlite } from '../../kit/stores/sqlite.js'
import { rightOf } from '../../kit/right-of.js'
import { accountId, conversionId, playbookId, sourceId, uuid } from '../../kit/domain/samples.js'

let ids = 0
const envelope = () => {
  ids += 1
  const id = uuid(ids)
  return { actor: 'test', eventId: () => id }
}

const create: MarketingSourceCommand = {
  type: 'CreateSource',
  sourceId: sourceId(1),
  accountId: accountId(),
  title: 'Search ads',
  playbookId: playbookId(),
  originatorField: null,
}
const suspend: MarketingSourceCommand = { type: 'SuspendSource', accountId: accountId() }
const resume: MarketingSourceCommand = { type: 'ResumeSource', accountId: accountId() }

/** A command handler with a cache, whose store counts reads and fails when it is told to. */
const open = async (t: ExecutionContext) => {
  const { port: store, close } = await openSqlite(sqliteEventStore)
  t.teardown(close)
  let reads = 0
  let failure: StoreFailure | undefined
  let during: () => Promise<unknown> = () => Promise.resolve()
  const counted: EventStore = {
    ...store,
    read: async (stream) => {
      reads += 1
      const read = await store.read(stream)
      await during()
      return read
    },
    append: async (...append) => (failure === undefined ? store.append(...append) : E.left(failure)),
  }
  const handler = cachedHandler(counted, systemClock(1))
  return {
    store,
    handler,
    reads: () => reads,
    fail: (how: StoreFailure | undefined) => {
      failure = how
    },
    whileReading: (what: () => Promise<unknown>) => {
      during = () => {
        during = () => Promise.resolve()
        return what()
      }
    },
    execute: (command: MarketingSourceCommand) => handler.execute(marketingSource, sourceId(1), command, envelope()),
    suspended: async () => {
      const { state } = rightOf(await handler.load(marketingSource, sourceId(1)))
      return state.kind === 'created' && state.suspended
    },
  }
}

test('a stream that this process wrote to, or has read, is not read again', async (t) => {
  const { execute, suspended, reads } = await open(t)
  rightOf(await execute(create))
  const once = reads()
  for (const command of [suspend, suspend, resume, suspend]) rightOf(await execute(command))
  t.true(await suspended())
  t.is(reads(), once)
})

test('what is cached is what the stream holds, whatever was executed', async (t) => {
  const { execute, handler, store, suspended } = await open(t)
  for (const command of [create, suspend, suspend, resume, create]) await execute(command)
  t.false(await suspended())
  const cached = rightOf(await handler.load(marketingSource, sourceId(1)))
  const read = rightOf(await cachedHandler(store, systemClock(1)).load(marketingSource, sourceId(1)))
  t.deepEqual(cached, read)
})

test('a read that ends late does not take the place of what was written meanwhile', async (t) => {
  const { store, execute, suspended, whileReading } = await open(t)
  rightOf(await cachedHandler(store, systemClock(1)).execute(marketingSource, sourceId(1), create, envelope()))
  whileReading(() => execute(suspend))
  await suspended()
  t.true(await suspended())
})

test('after an append of which nobody knows whether it was written, the stream is read again', async (t) => {
  const { execute, fail, reads, suspended } = await open(t)
  rightOf(await execute(create))
  fail({ kind: 'unavailable', reason: 'the disk is full' })
  t.true(E.isLeft(await execute(suspend)))
  fail(undefined)
  const before = reads()
  t.false(await suspended())
  t.is(reads(), before + 1)
})

test('what a reaction wrote before a crash is not mistaken for the end of its stream', async (t) => {
  const { store, handler } = await open(t)
  const define = {
    type: 'DefineConversion',
    conversionId: conversionId(1),
    accountId: accountId(),
    title: 'Renewed',
    value: 1,
    label: 'custom_conversion',
  } as const
  const event = { id: uuid(900), correlationId: uuid(900) }
  const reaction = { actor: 'reaction', cause: event, eventId: () => uuid(901) }
  const again = () => handler.execute(conversion, conversionId(1), define, reaction, newAggregate(conversion))
  rightOf(await again())
  const [first] = rightOf(await store.read(`conversion-${conversionId(1)}`)).events
  if (first === undefined) return t.fail('nothing was written')
  rightOf(await store.append(`conversion-${conversionId(1)}`, 0, [{ ...first, id: uuid(902) }]))
  rightOf(await again())
  t.is(rightOf(await handler.load(conversion, conversionId(1))).revision, 1)
})

test('ids that nobody has push no stream out of the cache, and one that is asked for again costs no second read', async (t) => {
  const { handler, execute, reads } = await open(t)
  rightOf(await execute(create))
  await handler.load(marketingSource, sourceId(1))
  const before = reads()
  for (let n = 2; n <= 6_000; n += 1) rightOf(await handler.load(marketingSource, sourceId(n)))
  t.is(reads(), before + 5_999)
  await handler.load(marketingSource, sourceId(1))
  await handler.load(marketingSource, sourceId(6_000))
  t.is(reads(), before + 5_999)
})

test('what a command assumes is never taken for what its stream holds, and what is cached goes before it', async (t) => {
  const { store, handler, reads, suspended } = await open(t)
  rightOf(await cachedHandler(store, systemClock(1)).execute(marketingSource, sourceId(1), create, envelope()))
  const assuming = (command: MarketingSourceCommand) =>
    handler.execute(marketingSource, sourceId(1), command, envelope(), newAggregate(marketingSource))
  rightOf(await assuming(suspend))
  t.is(reads(), 1, 'a source that is not there would refuse it')
  t.true(await suspended())
  rightOf(await assuming(resume))
  t.false(await suspended())
  t.is(reads(), 1)
})
