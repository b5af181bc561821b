import test, { type ExecutionContext } from 'ava'
import { systemClock } from '../../../../adapters/node/clock.js'
import { sqliteEventStore } from '../../../../adapters/sqlite/event-store.js'
import { inMemoryProjection } from '../../../../app/commands/states/in-memory-projection.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { newAggregate } from '../../../../domain/aggregate.js'
import { marketingSource, type MarketingSourceCommand } from '../../../../domain/marketing-source.js'
import type { EventBatch, EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { openSqlite } from '../../../kit/stores/sqlite.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualTime } from '../../../kit/time/manual-time.js'
import { accountId, playbookId, positionAt, sourceId, uuid } from '../../../kit/domain/samples.js'

let ids = 0
const envelope = () => {
  ids += 1
  const id = uuid(ids)
  return { actor: 'test', eventId: () => id }
}

const clock = systemClock(1)

/** A process that follows a log to which another one writes; what it is told of the log, and when, is the test's. */
const open = async (t: ExecutionContext) => {
  const { port: store, close } = await openSqlite(sqliteEventStore)
  t.teardown(close)
  const time = manualTime()
  let reads = 0
  let isAway = false
  let lacks = 0
  let during: () => Promise<void> = () => Promise.resolve()
  const counted: EventStore = {
    ...store,
    read: async (stream) => {
      reads += 1
      const read = await store.read(stream)
      await during()
      if (isAway) return E.left({ kind: 'unavailable', reason: 'away' })
      if (lacks === 0 || E.isLeft(read)) return read
      const events = read.right.events.slice(0, -lacks)
      return E.right({ events, revision: events.at(-1)?.revision ?? 'no-stream' })
    },
  }
  const projection = inMemoryProjection({ store, load: sharedHandler(counted, clock).load, monotonic: time })
  const other = sharedHandler(store, clock)
  const own = sharedHandler(projection.observed(store), clock)
  const execute = async (handler: typeof own, n: number, command: MarketingSourceCommand): Promise<void> => {
    rightOf(await handler.execute(marketingSource, sourceId(n), command, envelope(), newAggregate(marketingSource)))
  }
  const create = (n: number): MarketingSourceCommand => ({
    type: 'CreateSource',
    sourceId: sourceId(n),
    accountId: accountId(),
    title: `Source ${n}`,
    playbookId: playbookId(),
    originatorField: null,
  })
  let position = await projection.follower.begin(neverAborted)
  await execute(other, 1, create(1))

  return {
    projection,
    reads: () => reads,
    advance: time.advance,
    takeAway: () => {
      isAway = true
    },
    /** Reads lack so many events from now on, as on a node that is behind the one that the subscription comes from. */
    fallBehind: (count: number) => {
      lacks = count
    },
    whileReading: (what: () => Promise<void>) => {
      during = async () => {
        during = () => Promise.resolve()
        await what()
      }
    },
    /** By the other process. */
    suspend: () => execute(other, 1, { type: 'SuspendSource', accountId: accountId() }),
    resume: () => execute(other, 1, { type: 'ResumeSource', accountId: accountId() }),
    /** By this process. */
    suspendHere: () => execute(own, 1, { type: 'SuspendSource', accountId: accountId() }),
    /** By this process: something else altogether. */
    write: (n: number) => execute(own, n, create(n)),
    /** The subscription delivers all that stands in the log. */
    deliver: async () => {
      const batches: Array<EventBatch> = []
      for await (const batch of store.history(position, projection.follower.categories, neverAborted))
        batches.push(batch)
      for (const batch of batches) {
        await projection.follower.handle(batch)
        position = batch.position
      }
    },
    begin: async () => {
      position = await projection.follower.begin(neverAborted)
    },
    /** How a request that needs an open source sees it. */
    seen: async () => {
      const got = await projection.get(
        marketingSource,
        sourceId(1),
        (state) => state.kind === 'created' && !state.suspended,
      )
      if (E.isLeft(got)) return got.left.kind
      return got.right.kind === 'created' && got.right.suspended ? 'suspended' : got.right.kind
    },
  }
}

test('what was read once is not read again within a second', async (t) => {
  const { seen, reads, advance } = await open(t)
  t.is(await seen(), 'created')
  await advance(1_000)
  t.is(await seen(), 'created')
  t.is(reads(), 1)
  await advance(1)
  t.is(await seen(), 'created')
  t.is(reads(), 2)
})

test('what another process writes is seen as soon as the subscription delivers it', async (t) => {
  const { seen, suspend, resume, deliver } = await open(t)
  t.is(await seen(), 'created')
  await suspend()
  t.is(await seen(), 'created', 'nobody has told it')
  await deliver()
  t.is(await seen(), 'suspended')
  await resume()
  await deliver()
  t.is(await seen(), 'created')
})

test('where the subscription delivers nothing, nothing is accepted by what is older than a second', async (t) => {
  const { seen, suspend, advance } = await open(t)
  t.is(await seen(), 'created')
  await suspend()
  await advance(1_001)
  t.is(await seen(), 'suspended')
})

test('a refusal is confirmed in the stream', async (t) => {
  const { seen, suspend, resume, deliver, reads } = await open(t)
  t.is(await seen(), 'created')
  await suspend()
  await deliver()
  await resume()
  t.is(await seen(), 'created', 'the subscription lags')
  t.is(reads(), 2)
})

test('own writes that the subscription delivers show that it follows, and spare the reads', async (t) => {
  const { seen, write, deliver, reads, advance } = await open(t)
  t.is(await seen(), 'created')
  for (let n = 2; n < 12; n += 1) {
    await advance(900)
    await write(n)
    await deliver()
    await advance(900)
    t.is(await seen(), 'created')
  }
  t.is(reads(), 1)
})

test('an own write is seen at once, and again when the subscription delivers it', async (t) => {
  const { seen, suspendHere, resume, deliver } = await open(t)
  t.is(await seen(), 'created')
  await suspendHere()
  t.is(await seen(), 'suspended')
  await resume()
  await deliver()
  t.is(await seen(), 'created')
})

test('own writes that the subscription does not deliver show nothing', async (t) => {
  const { seen, write, suspend, advance } = await open(t)
  t.is(await seen(), 'created')
  await suspend()
  await advance(1_001)
  for (const n of [2, 3, 4]) await write(n)
  t.is(await seen(), 'suspended')
})

test('what was written before the newest delivered write of its own was begun is seen, whatever the order of answers', async (t) => {
  const { seen, write, suspend, deliver, advance } = await open(t)
  t.is(await seen(), 'created')
  await write(2)
  await deliver()
  await suspend()
  await advance(1_001)
  await write(3)
  t.is(await seen(), 'suspended')
})

test('while the stream can not be read either, nothing is accepted', async (t) => {
  const { seen, advance, takeAway } = await open(t)
  t.is(await seen(), 'created')
  takeAway()
  t.is(await seen(), 'created')
  await advance(1_001)
  t.is(await seen(), 'unavailable')
})

test('a read that an event overtook is not cached', async (t) => {
  const { seen, suspend, deliver, whileReading } = await open(t)
  whileReading(async () => {
    await suspend()
    await deliver()
  })
  t.is(await seen(), 'created', 'it was so when it was read')
  t.is(await seen(), 'suspended')
})

test('a read that is behind what was delivered changes nothing of what is known', async (t) => {
  const { seen, suspend, deliver, fallBehind } = await open(t)
  t.is(await seen(), 'created')
  await suspend()
  await deliver()
  fallBehind(1)
  t.is(await seen(), 'suspended', 'the delivered event is known')
  fallBehind(0)
  t.is(await seen(), 'suspended')
})

test('what was read before a subscription began is not cached: it may lack what came in between', async (t) => {
  const { seen, suspend, begin, write, deliver, advance, whileReading } = await open(t)
  whileReading(async () => {
    await suspend()
    await begin()
  })
  t.is(await seen(), 'created', 'it was so when it was read')
  await advance(500)
  await write(2)
  await deliver()
  t.is(await seen(), 'suspended')
})

test('what was cached before a subscription ended is not trusted after the next one began', async (t) => {
  const { seen, suspend, begin } = await open(t)
  t.is(await seen(), 'created')
  await suspend()
  await begin()
  t.is(await seen(), 'suspended')
})

test('an event that can not be decoded has its stream read again, and nothing else stops', async (t) => {
  const { projection, seen, reads, suspend, deliver } = await open(t)
  t.is(await seen(), 'created')
  const failure = { kind: 'corrupt', reason: 'any' } as const
  const stream = `marketing_source-${sourceId(1)}`
  const named = { stream, revision: 1, position: positionAt(2), id: uuid(99), type: 'SourceVanished' }
  await projection.follower.skip?.({ ...named, failure })
  t.is(await seen(), 'created')
  t.is(reads(), 2)
  await suspend()
  await deliver()
  t.is(await seen(), 'suspended')
})
