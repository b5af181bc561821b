import test from 'ava'
import type { ContactId, EngagementId, MessageId } from '../../../domain/ids.js'
import { later, type Instant } from '../../../domain/instant.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { wakeUp } from '../../../domain/wake-up.js'
import { E } from '../../../domain/prelude.js'
import { beginDue } from '../../../projections/follow-up/due/begin-due.js'
import type { Change, Documents } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { followUpQueueOf, followUps } from '../../../projections/read-models/follow-ups.js'
import { messages, requestedQueueOf } from '../../../projections/read-models/messages.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { accountId, at, contactId, engagementId, messageId, positionAt } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { testLease } from '../../kit/parts/lease.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { isOver } from '../../kit/time/turns.js'

const lease = testLease('contacts_0')

const due = (id: MessageId, contact: ContactId, next_at = at(), account_id = accountId()): Change => {
  const document = { id, account_id, contact_id: contact, queue: requestedQueueOf(lease.name), next_at }
  return { key: id, document, position: positionAt(1) }
}

const step = (
  n: number,
  next_at: Instant,
  started_at = at(),
  kind: 'first' | 'later' | 'consent' = 'later',
  account_id = accountId(),
): Change => {
  const id = engagementId(n)
  const document = {
    ...{ id, account_id, contact_id: contactId(n), queue: followUpQueueOf(lease.name, kind), next_at, started_at },
  }
  return { key: id, document, position: positionAt(1) }
}

/** What was begun, and how many documents were read for it. */
type Look = { readonly begun: ReadonlyArray<string>; readonly read: number }

/** Where so many are made at a time that goes on only while they sleep, they are made without end. */
const mostLooks = 200

/** A shard with what waits in it. A look lasts until something wakes the shard. */
const openShard = async (requested: ReadonlyArray<Change>, steps: ReadonlyArray<Change> = []) => {
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collectionOf(followUps)))
  rightOf(await documents.prepare(collectionOf(messages)))
  rightOf(await documents.apply(collectionOf(messages), requested, positionAt(1)))
  rightOf(await documents.apply(collectionOf(followUps), steps, positionAt(1)))
  const shard = {
    ...{
      lease,
      wakeUp: wakeUp(),
      inFlight: new Map<EngagementId | MessageId, Promise<void>>(),
      checking: new Map(),
      erasing: new Set<MessageId>(),
      writingTo: new Map(),
      late: new Set<EngagementId | MessageId>(),
    },
    ...{ setAside: new Map(), latePaceUntil: 0, nextWiderReadAt: 0, lateAhead: { steps: [], until: 0 } },
  }
  const clock = manualClock()
  const monotonic: MonotonicClock = {
    now: clock.time,
    sleep: (milliseconds, signal) => clock.sleepUntil(later(clock.now(), milliseconds), signal),
  }
  let read = 0
  let reading = (): void => undefined
  const find: Documents['find'] = async (collection, query) => {
    const found = await documents.find(collection, query)
    reading()
    read += E.isRight(found) ? found.right.length : 0
    return found
  }
  const look = async (wake = shard.wakeUp.wake): Promise<Look> => {
    const begun: Array<string> = []
    read = 0
    const looking = beginDue(
      { documents: { find }, clock, monotonic, failingWork: failingWork(monotonic) },
      shard,
      (id) => {
        begun.push(id)
        shard.inFlight.set(id, Promise.resolve())
      },
    )
    if (!(await isOver(looking))) wake()
    await looking
    return { begun, read }
  }
  return {
    shard,
    clock,
    look,
    /**
     * Looks again and again for so many milliseconds, in which no task ends and nothing comes: what each look found.
     * Only where a look sleeps does time go on.
     */
    lookFor: async (milliseconds: number) => {
      const looks: Array<Look> = []
      const latest = clock.time() + milliseconds
      while (clock.time() < latest && looks.length < mostLooks)
        looks.push(
          await look(() => {
            if (!clock.toNextTimer(latest)) shard.wakeUp.wake()
          }),
        )
      return looks
    },
    /** Another step comes. */
    add: async (one: Change) => rightOf(await documents.apply(collectionOf(followUps), [one], positionAt(2))),
    addRequested: async (one: Change) => rightOf(await documents.apply(collectionOf(messages), [one], positionAt(2))),
    /** All that is in flight has been done. */
    finish: async (): Promise<void> => {
      const done = [...shard.inFlight.keys()].map((key): Change => ({
        key,
        document: undefined,
        position: positionAt(3),
      }))
      rightOf(await documents.apply(collectionOf(followUps), done, positionAt(3)))
      shard.inFlight.clear()
      shard.late.clear()
      shard.writingTo.clear()
    },
    /** Whenever something was read. */
    whileReading: (then: () => void): void => {
      reading = then
    },
  }
}

test('however many tasks are parked in a shard, a look reads no more than without them', async (t) => {
  const steps = [...Array(1_000).keys()].flatMap((n) => [step(2 * n, at(n), at(n), 'first'), step(2 * n + 1, at(n))])
  const requested = Array.from({ length: 1_000 }, (_, n) => due(messageId(n), contactId(n), at(n)))
  const { shard, clock, look, add } = await openShard(requested, steps)
  for (const { key } of [...requested, ...steps]) shard.setAside.set(key, 'prk_1')
  clock.set(at(10_000))
  t.deepEqual(await look(), { begun: [], read: 0 })
  await add(step(9_999, at(9_000), at(9_000), 'first'))
  const { begun, read } = await look()
  t.deepEqual(begun, [engagementId(9_999)])
  t.true(read < 10, `${read} documents were read`)
})

test('where the lease ends while it is read what is due, nothing is begun under it', async (t) => {
  const { shard, look, whileReading } = await openShard([due(messageId(1), contactId(1))], [step(2, at())])
  const own = testLease(lease.name)
  shard.lease = own
  whileReading(own.recall)
  t.deepEqual((await look()).begun, [])
})

test('one contact is written to by one task at a time, so that each knows what the one before has sent', async (t) => {
  const waiting = [due(messageId(1), contactId(1)), due(messageId(2), contactId(1)), due(messageId(3), contactId(2))]
  const { shard, look } = await openShard(waiting)
  t.deepEqual((await look()).begun, [messageId(1), messageId(3)])
  shard.writingTo.delete(messageId(1))
  t.deepEqual((await look()).begun, [messageId(2)])
})

test('a first message costs as little to find beside a thousand engagements that wait for days', async (t) => {
  const tomorrow = later(at(), 24 * 60 * 60_000)
  const waiting = Array.from({ length: 1_000 }, (_, n) => step(n + 1, later(tomorrow, n)))
  const { look } = await openShard([due(messageId(1), contactId(5_000))], waiting)
  const { begun, read } = await look()
  t.deepEqual(begun, [messageId(1)])
  t.true(read <= 5, `${read} documents were read`)
})

test('however many steps are late, those of the newest leads come first', async (t) => {
  const due = [
    // The older the lead, the longer its step is late.
    (n: number) => later(at(), n - 5_000),
    (n: number) => later(at(), -n),
    () => later(at(), -1),
  ]
  for (const dueAt of due) {
    const late = Array.from({ length: 1_200 }, (_, n) => step(n + 1, dueAt(n), later(at(), n - 100_000)))
    const { add, finish, clock, look } = await openShard([], late)
    const ids = (from: number) => [0, 1, 2, 3].map((n) => engagementId(from - n))
    t.deepEqual((await look()).begun, ids(1_200))
    const newer = step(2_000, later(at(), 1), later(at(), -1))
    await add(newer)
    let newest = 1_196
    const next = async (milliseconds: number) => {
      clock.set(later(clock.now(), milliseconds))
      await finish()
      return look()
    }
    for (; newest > 1_196 - 4 * 60; newest -= 4) t.deepEqual(await next(125), { begun: ids(newest), read: 0 })
    t.deepEqual((await next(10_000)).begun, [engagementId(2_000), ...ids(newest).slice(0, 3)], 'what is late by now')
  }
})

test('first messages that are late go out at the pace of late steps, those of the newest leads first, and hold up none that has just come', async (t) => {
  const minute = 60_000
  const late = Array.from({ length: 700 }, (_, n) => later(at(), (n - 1_000) * minute))
  const steps = late.map((lead, n) => step(n + 1, lead, lead, 'first'))
  const older = later(at(), -2_000 * minute)
  const inTime = [1, 2].map((n) => step(1_000 + n, later(at(), -n * 1_000), at(), 'first'))
  const { look, finish, clock, add } = await openShard([], [...steps, ...inTime, step(2_000, at(), older)])
  const ids = (from: number) => [0, 1, 2, 3].map((n) => engagementId(from - n))
  t.deepEqual((await look()).begun, [engagementId(1_002), engagementId(1_001), ...ids(700)])
  await finish()
  await add(step(3_000, at(), at(), 'first'))
  t.deepEqual((await look()).begun, [engagementId(3_000)], 'the next that are late wait for their place')
  for (let newest = 696; newest > 0; newest -= 4) {
    clock.set(later(clock.now(), 125))
    await finish()
    t.deepEqual((await look()).begun, ids(newest))
  }
  clock.set(later(clock.now(), 125))
  await finish()
  t.deepEqual((await look()).begun, [engagementId(2_000)], 'the step of the oldest lead')
})

test('late steps of contacts that are written to now hold up those of no others, and are not looked at again and again', async (t) => {
  const late = Array.from({ length: 8 }, (_, n) => step(n + 1, later(at(), -1), later(at(), n - 1_000)))
  const { shard, look } = await openShard([], late)
  for (const n of [8, 7, 6, 5]) shard.writingTo.set(messageId(n), { account_id: accountId(), contact_id: contactId(n) })
  t.deepEqual(
    (await look()).begun,
    [4, 3, 2, 1].map((n) => engagementId(n)),
  )
  const busy = await openShard([], late.slice(0, 1))
  busy.shard.writingTo.set(messageId(1), { account_id: accountId(), contact_id: contactId(1) })
  await busy.look()
  t.is(busy.shard.latePaceUntil, 0)
})

test('while late steps are held back to their pace none of them is read', async (t) => {
  const late = Array.from({ length: 1_000 }, (_, n) => step(n + 1, later(at(), -1_000 - n)))
  const { look } = await openShard([], late)
  t.is((await look()).begun.length, 4)
  t.deepEqual(await look(), { begun: [], read: 0 })
})

test('once all that is late is in flight a shard sleeps', async (t) => {
  const { look, lookFor } = await openShard([], [step(1, later(at(), -1)), step(2, later(at(), 3_600_000))])
  t.deepEqual((await look()).begun, [engagementId(1)])
  t.is((await lookFor(3_599_000)).length, 1)
})

test('a step that becomes due while late ones are held back to their pace is begun at its end', async (t) => {
  const { clock, look, lookFor } = await openShard([], [step(1, later(at(), -1)), step(2, later(at(), 50))])
  await look()
  t.deepEqual(
    (await lookFor(125)).flatMap(({ begun }) => begun),
    [],
  )
  t.is(clock.now(), later(at(), 125))
  t.deepEqual((await look()).begun, [engagementId(2)])
})

test('a shard that something wakes while late ones are held back to their pace goes on at its end', async (t) => {
  const late = Array.from({ length: 6 }, (_, n) => step(n + 1, later(at(), n - 60), later(at(), n - 60)))
  const { shard, clock, look, finish } = await openShard([], late)
  t.is((await look()).begun.length, 4)
  // They go on, and have a place no longer.
  shard.late.clear()
  shard.writingTo.set(messageId(1), { account_id: accountId(), contact_id: contactId(1) })
  const toPaceEnd = () => t.true(clock.toNextTimer())
  t.deepEqual((await look(toPaceEnd)).begun, [], 'woken')
  t.is(clock.now(), later(at(), 125))
  t.deepEqual((await look()).begun, [engagementId(2)])
  await finish()
  t.deepEqual((await look(toPaceEnd)).begun, [], 'the first of them has become free')
  t.deepEqual((await look()).begun, [engagementId(1)])
})

for (const [what, kind, count] of [
  ['first messages', 'first', 6],
  ['steps of many leads', 'later', 1_000],
] as const) {
  test(`a shard that something wakes goes on at the end of the pace, also with late ${what}`, async (t) => {
    const hour = 3_600_000
    const late = Array.from({ length: count }, (_, n) =>
      step(n + 1, later(at(), n - hour), later(at(), n - hour), kind),
    )
    const { shard, clock, look } = await openShard([], late)
    t.is((await look()).begun.length, 4)
    shard.late.clear()
    shard.writingTo.clear()
    t.deepEqual((await look(() => t.true(clock.toNextTimer()))).begun, [], 'woken')
    t.is(clock.now(), later(at(), 125))
    t.true((await look()).begun.length > 0)
  })
}

test('late steps whose pace comes to its end while others are read are begun all the same', async (t) => {
  const late = Array.from({ length: 10 }, (_, n) => step(n + 1, later(at(), -1_000 - n)))
  const { shard, clock, look, whileReading } = await openShard([], late)
  await look()
  shard.late.clear()
  whileReading(() => clock.set(later(at(), 60_000)))
  const looking = look(() => undefined)
  t.true(await isOver(looking), 'nothing else would wake the shard')
  shard.wakeUp.wake()
  await looking
  t.is((await look()).begun.length, 4)
})

test('of the late steps of a shard few are in flight at a time, however long each takes', async (t) => {
  const late = Array.from({ length: 10 }, (_, n) =>
    step(n + 1, later(at(), -1_000 - n), at(), 'later', accountId(1 + (n % 2))),
  )
  const { shard, clock, look } = await openShard([], late)
  const [ended, ...others] = (await look()).begun as ReadonlyArray<EngagementId>
  t.is(others.length, 3)
  clock.set(later(at(), 60_000))
  t.is((await look()).begun.length, 1)
  clock.set(later(at(), 120_000))
  t.deepEqual(await look(), { begun: [], read: 0 })
  if (ended !== undefined) shard.late.delete(ended)
  t.is((await look()).begun.length, 1)
})

test('a shard that begins what is due sleeps no longer than until the next is due', async (t) => {
  const next = due(messageId(2), contactId(2), later(at(), 1_000))
  const { clock, look } = await openShard([due(messageId(1), contactId(1)), next])
  t.deepEqual((await look(() => t.true(clock.toNextTimer()))).begun, [messageId(1)])
  t.is(clock.now(), later(at(), 1_000))
  t.deepEqual((await look()).begun, [messageId(2)])
})

test('a shard sleeps no longer than until the next is due, of whichever kind it is', async (t) => {
  const kinds = ['requested', 'first', 'later', 'consent'] as const
  for (const soonest of kinds) {
    const steps: Array<Change> = []
    const requested: Array<Change> = []
    for (const [n, kind] of kinds.entries()) {
      const next = later(at(), (kind === soonest ? 1 : 2 + n) * 60_000)
      if (kind === 'requested') requested.push(due(messageId(n), contactId(n), next))
      else steps.push(step(n, next, at(), kind))
    }
    const { clock, look } = await openShard(requested, steps)
    t.deepEqual((await look(() => t.true(clock.toNextTimer()))).begun, [])
    t.is(clock.now(), later(at(), 60_000), soonest)
  }
})

for (const kind of ['first', 'consent'] as const) {
  test(`however many leads of one account wait before it (${kind}), that of another one comes next`, async (t) => {
    const crowd = Array.from({ length: 1_000 }, (_, n) => step(n + 1, later(at(), n - 5_000), at(), kind))
    const { add, finish, look } = await openShard([], crowd)
    const atFirst = (await look()).begun
    t.true(atFirst.length > 0)
    await finish()
    await add(step(2_000, at(), at(), kind, accountId(2)))
    const { begun, read } = await look()
    t.true(begun.includes(engagementId(2_000)), `${begun.length} of others`)
    t.true(read <= 500, `${read} documents were read`)
  })
}

test('however many tasks of one account hang, those of others have places of their own', async (t) => {
  const steps = Array.from({ length: 100 }, (_, n) => step(n + 1, later(at(), n - 5_000), at(), 'first'))
  const late = [1, 2, 3, 4].map((n) => step(n + 200, later(at(), -3_600_000)))
  const requested = Array.from({ length: 100 }, (_, n) => due(messageId(n + 1), contactId(n + 301), later(at(), -n)))
  const { clock, add, addRequested, look } = await openShard(requested, [...steps, ...late])
  const atFirst = (await look()).begun
  const ofSteps = atFirst.filter((id) => id.startsWith('neg_'))
  t.deepEqual([ofSteps.length, atFirst.length - ofSteps.length], [12, 12], 'three quarters of the places of each kind')
  t.deepEqual((await look()).begun, [], 'its others wait until one of these has ended')
  await add(step(1_001, at(), at(), 'first', accountId(2)))
  await addRequested(due(messageId(1_001), contactId(1_002), at(), accountId(2)))
  t.deepEqual((await look()).begun, [messageId(1_001), engagementId(1_001)])
  await add(step(1_003, later(at(), -3_600_000), at(1), 'later', accountId(2)))
  clock.set(later(clock.now(), 1_000))
  t.deepEqual((await look()).begun, [engagementId(1_003)], 'a late one, too')
})

test('where all that hangs and comes before and after it is of one account, that of another is found', async (t) => {
  const crowd = [...Array(100).keys()].filter((n) => n !== 60)
  const steps = crowd.map((n) => step(n + 1, later(at(), n - 5_000), at(), 'first'))
  const requested = crowd.map((n) => due(messageId(n + 1), contactId(n + 301), later(at(), n - 5_000)))
  const { clock, add, addRequested, look } = await openShard(requested, steps)
  t.is((await look()).begun.length, 24)
  t.deepEqual((await look()).begun, [])
  await add(step(1_001, later(at(), 60 - 5_000), at(), 'first', accountId(2)))
  await addRequested(due(messageId(1_001), contactId(1_002), later(at(), 60 - 5_000), accountId(2)))
  t.deepEqual((await look()).begun, [], 'it is not looked for at each look')
  clock.set(later(clock.now(), 1_000))
  t.deepEqual((await look()).begun, [messageId(1_001), engagementId(1_001)])
})

test('a check keeps its place for itself however a look for others ends', async (t) => {
  const crowd = Array.from({ length: 100 }, (_, n) => step(n + 1, later(at(), n - 5_000), at(), 'first'))
  const { shard, add, look, whileReading } = await openShard([], crowd)
  t.is((await look()).begun.length, 12)
  await add(step(1_001, at(), at(), 'consent', accountId(2)))
  whileReading(() => {
    if (shard.checking.size > 0) throw new Error('the store is away')
  })
  t.deepEqual((await look()).begun, [engagementId(1_001)])
})

test('late steps of an account have their share of its places', async (t) => {
  const steps = Array.from({ length: 10 }, (_, n) => step(n + 1, later(at(), n - 5_000), at(), 'first'))
  const late = [1, 2, 3, 4].map((n) => step(n + 200, later(at(), -3_600_000)))
  const { look } = await openShard([], [...steps, ...late])
  t.is((await look()).begun.length, 12)
})

/** Late steps of an account, one lead each; the higher its number, the newer the lead. */
const lateOf = (account: number, first: number, count: number): ReadonlyArray<Change> =>
  Array.from({ length: count }, (_, n) =>
    step(first + n, later(at(), first + n - 10_000), later(at(), first + n - 100_000), 'later', accountId(account)),
  )

for (const count of [20, 1_500]) {
  test(`however many late steps of one account hang, one place is for those of others (${count} of newer leads)`, async (t) => {
    const { clock, look } = await openShard([], [...lateOf(1, 1_000, count), ...lateOf(2, 1, 2)])
    const newest = 1_000 + count - 1
    const next = () => {
      clock.set(later(clock.now(), 125))
      return look()
    }
    t.deepEqual(
      (await look()).begun,
      [0, 1, 2, 3].map((n) => engagementId(newest - n)),
      'the pace of one alone',
    )
    t.deepEqual((await next()).begun, [engagementId(2)])
    t.deepEqual(await next(), { begun: [], read: 0 }, 'all places are taken')
  })

  test(`where the late steps of one account hang those of another that come are found by themselves, without a look after look (${count})`, async (t) => {
    const { shard, add, lookFor, look, clock } = await openShard([], lateOf(1, 1_000, count))
    t.is((await look()).begun.length, 4)
    const looks = await lookFor(60_000)
    const read = looks.reduce((sum, one) => sum + one.read, 0)
    t.true(looks.length <= 62, `${looks.length} looks`)
    t.true(read <= 60 * 20 + 6 * (1_500 + 100 + 1), `${read} documents were read`)
    for (const change of lateOf(2, 1, 1)) await add(change)
    const found = (await lookFor(10_000)).find(({ begun }) => begun.length > 0)
    t.deepEqual(found?.begun, [engagementId(1)])
    const [ended = engagementId(0)] = shard.late
    shard.late.delete(ended)
    shard.writingTo.delete(ended)
    clock.set(later(clock.now(), 125))
    t.is((await look()).begun.length, 1, 'the account goes on as soon as a task of its own has ended')
  })
}

test('a shard in which the tasks of one account hang looks for those of others by itself, once a second', async (t) => {
  const crowd = [...Array(100).keys()].filter((n) => n !== 60)
  const { add, look, lookFor } = await openShard(
    [],
    crowd.map((n) => step(n + 1, later(at(), n - 5_000), at(), 'first')),
  )
  t.is((await look()).begun.length, 12)
  const looks = await lookFor(60_000)
  t.true(looks.length >= 60 && looks.length <= 62, `${looks.length} looks`)
  await add(step(1_001, later(at(), 60 - 5_000), at(), 'first', accountId(2)))
  const begun = (await lookFor(1_000)).flatMap((one) => one.begun)
  t.deepEqual(begun, [engagementId(1_001)])
})

test('a shard whose places are all taken looks for nothing by itself', async (t) => {
  const waiting = Array.from({ length: 100 }, (_, n) =>
    step(n + 1, later(at(), n - 5_000), at(), 'first', accountId(n % 2)),
  )
  const { look, lookFor } = await openShard([], waiting)
  t.is((await look()).begun.length, 16)
  t.is((await lookFor(60_000)).length, 1)
})
