import test, { type ExecutionContext } from 'ava'
import { aborted, neverAborted } from '../../../domain/abortable.js'
import { beginning, positionOf, type Position } from '../../../domain/event.js'
import type { EventStore, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import { CannotFollow } from '../../../projections/projection.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import type { Lease } from '../../../projections/subscriptions/leases.js'
import type { Documents } from '../../../projections/ports.js'
import { leasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { testLease } from '../../kit/parts/lease.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { rightOf } from '../../kit/right-of.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { nextTurn, isOver, settled } from '../../kit/time/turns.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'

const never = new AbortController().signal
const collection = checkpointCollection('work')

/** The same documents, and how often a checkpoint was asked for. */
const countedLooks = (documents: Documents) => {
  let asked = 0
  const counted: Documents = {
    ...documents,
    checkpoint: (one) => {
      asked += 1
      return documents.checkpoint(one)
    },
  }
  return { counted, asked: () => asked }
}

/** A log and the checkpoints of what follows it, for processes that share the follower `work`. */
const open = async (t: ExecutionContext) => {
  const { store, documents, close } = await openSqliteStores()
  rightOf(await documents.prepare(collection))
  let n = 0

  /** One process: what it handles waits until `go` is called. */
  const process = (
    read: Documents = documents,
    own: Documents = documents,
    savedToo?: Pick<EventStore, 'checkpoint'>,
  ) => {
    const handled: Array<Position> = []
    const polls: Array<number> = []
    let chokes = false
    let release = (): void => undefined
    let gate = Promise.resolve()
    const start = (lease: Lease) => {
      const checkpoint = checkpointIn(guardedDocuments(own, lease), 'work', 1n)
      return follow(
        {
          name: lease.name,
          categories: ['account'],
          begin: checkpoint.load,
          handle: async (batch) => {
            await gate
            if (chokes) throw new CannotFollow('it chokes')
            if (!lease.isValid()) throw new Error('another process has taken over')
            handled.push(...batch.events.map((event) => event.position))
            await checkpoint.advance(batch)
          },
          end: checkpoint.flush,
        },
        { store, logger: recordingLogger(), backoff: nextTurn },
      )
    }
    let endless = Number.POSITIVE_INFINITY
    const pollBackoff = async (count: number, signal: AbortSignal): Promise<void> => {
      polls.push(count)
      await (count >= endless ? aborted(signal) : nextTurn())
    }
    return {
      follower: leasedFollower('work', collection, start, {
        documents: read,
        pollBackoff,
        ...(savedToo && { store: savedToo }),
      }),
      handled,
      polls,
      hold: () => {
        gate = new Promise((resolve) => {
          release = resolve
        })
      },
      go: () => release(),
      choke: () => {
        chokes = true
      },
      /** From the one with this number on, the pauses between two looks do not end by themselves any more. */
      pause: (number: number) => {
        endless = number
      },
    }
  }
  t.teardown(close)
  return {
    documents,
    process,
    /** Gives the position of one event more. */
    write: async (): Promise<Position> => {
      n += 1
      return rightOf(await store.append(`account-${n}`, 'no-stream', [newEvent(n)])).position
    },
  }
}

test('a follower runs from the moment of its lease until that is lost, and has stopped when the work is over', async (t) => {
  const { process, write } = await open(t)
  const { follower: work, handled } = process()
  const first = await write()
  t.deepEqual(handled, [])
  const lease = testLease('work')
  const working = work.run(lease)
  await work.caughtUpTo(first, never)
  t.deepEqual(handled, [first])
  t.false(await isOver(working))
  lease.recall()
  await working
  await write()
  await settled()
  t.deepEqual(handled, [first])
})

test('the work under a lease is over only when what was in flight has ended', async (t) => {
  const { process, write } = await open(t)
  const { follower: work, hold, go } = process()
  hold()
  const lease = testLease('work')
  const working = work.run(lease)
  await write()
  t.false(await isOver(working))
  lease.recall()
  t.false(await isOver(working))
  go()
  await working
  t.pass()
})

test('the position of a follower that has just begun is the stored one, until it knows where it begins', async (t) => {
  const { process, write, documents } = await open(t)
  const first = await write()
  rightOf(await documents.apply(collection, [], first))
  let begin = (): void => undefined
  const loading: Documents = {
    ...documents,
    prepare: async (one) => {
      await new Promise<void>((resolve) => (begin = resolve))
      return documents.prepare(one)
    },
  }
  const { follower: work } = process(documents, loading)
  const lease = testLease('work')
  const working = work.run(lease)
  t.is(await work.position(), first)
  const caughtUp = work.caughtUpTo(first, never)
  await settled()
  begin()
  await caughtUp
  t.is(await work.position(), first)
  lease.recall()
  await working
})

test('the position of a follower is its own where it runs, and the stored one elsewhere', async (t) => {
  const { process, write, documents } = await open(t)
  const [here, elsewhere] = [process(), process()]
  t.is(await here.follower.position(), beginning)
  const lease = testLease('work')
  const working = here.follower.run(lease)
  const first = await write()
  await here.follower.caughtUpTo(first, never)
  t.is(await here.follower.position(), first)
  t.is(await elsewhere.follower.position(), first)
  // Whoever follows knows it before it is stored, and without asking.
  rightOf(await documents.drop(collection))
  rightOf(await documents.prepare(collection))
  t.is(await here.follower.position(), first)
  t.is(await elsewhere.follower.position(), beginning)
  lease.recall()
  await working
})

test('a process manager that has just begun is at the further position, where the event store has its checkpoint too', async (t) => {
  const { process, write, documents } = await open(t)
  const [first, second] = [await write(), await write()]
  let savedToo: Either<StoreFailure, Position> = E.right(first)
  const { follower: work, hold, go } = process(documents, documents, { checkpoint: () => Promise.resolve(savedToo) })
  t.is(await work.furthestPosition(), first, 'the documents are new')
  rightOf(await documents.apply(collection, [], second))
  t.is(await work.furthestPosition(), second)
  savedToo = E.left({ kind: 'unavailable', reason: 'away' })
  t.is(await work.furthestPosition(), second)
  const third = await write()
  const lease = testLease('work')
  const working = work.run(lease)
  await work.caughtUpTo(third, never)
  hold()
  savedToo = E.right(await write())
  t.is(await work.furthestPosition(), third, 'it runs, and knows it best')
  go()
  lease.recall()
  await working
})

test('a position that can not be read is not known', async (t) => {
  const { process, documents } = await open(t)
  const away: Documents = {
    ...documents,
    checkpoint: () => Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' })),
  }
  t.is(await process(away).follower.position(), undefined)
})

test('where a follower runs, its position is waited for without asking the store', async (t) => {
  const { process, write, documents } = await open(t)
  const { counted, asked } = countedLooks(documents)
  const { follower: work, hold, go, polls } = process(counted)
  const lease = testLease('work')
  hold()
  const working = work.run(lease)
  const first = await write()
  const reached = work.caughtUpTo(first, never)
  const caughtUp = work.caughtUpHere(first, neverAborted)
  t.false(await isOver(Promise.race([reached, caughtUp])))
  go()
  await Promise.all([reached, caughtUp])
  t.is(asked(), 0)
  t.deepEqual(polls, [])
  lease.recall()
  await working
})

test('where a follower runs elsewhere, its stored position is polled, ever less often, until it is there', async (t) => {
  const { process, write } = await open(t)
  const [here, elsewhere] = [process(), process()]
  const lease = testLease('work')
  here.hold()
  const working = here.follower.run(lease)
  const first = await write()
  const reached = elsewhere.follower.caughtUpTo(first, never)
  t.false(await isOver(reached))
  t.true(
    await isOver(elsewhere.follower.caughtUpHere(first, neverAborted)),
    'what is followed elsewhere is not waited for',
  )
  here.go()
  await reached
  t.true(elsewhere.polls.length > 1)
  t.deepEqual(
    elsewhere.polls,
    elsewhere.polls.map((_, tries) => tries),
  )
  await elsewhere.follower.caughtUpTo(first, never)
  lease.recall()
  await working
})

test('however many wait for a follower that runs elsewhere, the store is asked as often as for one', async (t) => {
  const { process, write, documents } = await open(t)
  const here = process()
  const lease = testLease('work')
  here.hold()
  const working = here.follower.run(lease)
  const first = await write()
  const askedFor = async (waiting: number) => {
    const { counted, asked } = countedLooks(documents)
    const { follower: work } = process(counted)
    const signals = Array.from({ length: waiting }, () => new AbortController().signal)
    const reached = Promise.all(signals.map((signal) => work.caughtUpTo(first, signal)))
    await settled()
    return { asked: asked(), reached }
  }
  const [one, hundred] = [await askedFor(1), await askedFor(100)]
  here.go()
  await Promise.all([one.reached, hundred.reached])
  t.true(hundred.asked <= one.asked + 1, `${hundred.asked} times, and ${one.asked} for one`)
  lease.recall()
  await working
})

test('those who begin to wait one after the other share a look, and none follows once all have gone', async (t) => {
  const { process, write, documents } = await open(t)
  const { counted, asked } = countedLooks(documents)
  const { follower: work, pause } = process(counted)
  pause(0)
  const first = await write()
  const leaving = new AbortController()
  const waiting: Array<Promise<void>> = []
  for (let n = 0; n < 50; n += 1) {
    waiting.push(work.caughtUpTo(first, AbortSignal.any([leaving.signal])))
    await settled()
  }
  t.is(asked(), 1)
  leaving.abort()
  await Promise.all(waiting)
  await settled()
  t.is(asked(), 1)
})

test('whoever begins to wait while others do is told at once where nothing is left to wait for', async (t) => {
  const { process, write } = await open(t)
  const [here, elsewhere] = [process(), process()]
  const lease = testLease('work')
  const working = here.follower.run(lease)
  const first = await write()
  await here.follower.caughtUpTo(first, never)
  const waiting = new AbortController()
  const later = elsewhere.follower.caughtUpTo(positionOf(first + 1n), waiting.signal)
  elsewhere.pause(1)
  t.false(await isOver(later))
  t.true(await isOver(elsewhere.follower.caughtUpTo(first, never)))
  waiting.abort()
  await later
  lease.recall()
  await working
})

test('whoever waits where the lease is lost waits on for the process that takes over', async (t) => {
  const { process, write } = await open(t)
  const [here, elsewhere] = [process(), process()]
  const lease = testLease('work')
  here.hold()
  const working = here.follower.run(lease)
  const first = await write()
  const reached = here.follower.caughtUpTo(first, never)
  await isOver(reached)
  lease.expire()
  here.go()
  await working
  t.false(await isOver(reached))
  t.deepEqual(here.handled, [])
  const next = testLease('work')
  const takenOver = elsewhere.follower.run(next)
  await reached
  t.deepEqual(elsewhere.handled, [first])
  next.recall()
  await takenOver
})

test('whoever waits elsewhere goes on when this process takes over', async (t) => {
  const { process, write } = await open(t)
  const { follower: work, handled } = process()
  const first = await write()
  const reached = work.caughtUpTo(first, never)
  t.false(await isOver(reached))
  const lease = testLease('work')
  const working = work.run(lease)
  await reached
  t.deepEqual(handled, [first])
  lease.recall()
  await working
})

test('nobody waits longer than an abort says, wherever the follower runs', async (t) => {
  const { process, write } = await open(t)
  const [here, elsewhere] = [process(), process()]
  const lease = testLease('work')
  here.hold()
  const working = here.follower.run(lease)
  const first = await write()
  for (const { follower: work } of [here, elsewhere]) {
    const waiting = new AbortController()
    const reached = work.caughtUpTo(first, waiting.signal)
    t.false(await isOver(reached))
    waiting.abort()
    t.true(await isOver(reached))
    t.true(await isOver(work.caughtUpTo(first, AbortSignal.abort())))
  }
  here.go()
  lease.recall()
  await working
})

test('whoever waits while the position can not be read waits on', async (t) => {
  const { process, write, documents } = await open(t)
  let isAway = true
  const away: Documents = {
    ...documents,
    checkpoint: (one) =>
      isAway ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' })) : documents.checkpoint(one),
  }
  const [here, elsewhere] = [process(), process(away)]
  const lease = testLease('work')
  const working = here.follower.run(lease)
  const first = await write()
  const reached = elsewhere.follower.caughtUpTo(first, never)
  t.false(await isOver(reached))
  isAway = false
  await reached
  t.deepEqual(here.handled, [first])
  lease.recall()
  await working
})

test('a follower that can not go on says why where it runs, and nobody waits for it', async (t) => {
  const { process, write } = await open(t)
  const [here, elsewhere] = [process(), process()]
  const lease = testLease('work')
  here.choke()
  t.is(here.follower.failure(), undefined)
  const working = here.follower.run(lease)
  const first = await write()
  await Promise.all([here.follower.caughtUpTo(first, never), here.follower.caughtUpHere(first, neverAborted)])
  t.is(here.follower.failure(), 'it chokes')
  t.is(elsewhere.follower.failure(), undefined)
  lease.recall()
  await working
  t.is(here.follower.failure(), undefined, 'it is followed elsewhere now')
})
