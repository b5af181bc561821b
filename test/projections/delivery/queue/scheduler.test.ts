import test from 'ava'
import type { DeliveryId } from '../../../../domain/ids.js'
import { later, type Instant } from '../../../../domain/instant.js'
import { E } from '../../../../domain/prelude.js'
import type { AttemptEnd } from '../../../../projections/delivery/queue/attempts-in-flight.js'
import { scheduler } from '../../../../projections/delivery/queue/scheduler.js'
import {
  webhookQueue,
  type AttemptKind,
  type WebhookQueue,
} from '../../../../projections/delivery/queue/webhook-queue.js'
import type { Json } from '../../../../projections/ports.js'
import { collectionOf } from '../../../../projections/projection.js'
import { deliveries, queueOf } from '../../../../projections/read-models/deliveries.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { testLease } from '../../../kit/parts/lease.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { at, deliveryId, parkedEventId, positionAt, webhookId } from '../../../kit/domain/samples.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { nextTurn, settled, isOver, turnTime } from '../../../kit/time/turns.js'
import { until } from '../../../kit/time/until.js'

type Begun = {
  readonly id: DeliveryId
  readonly kind: AttemptKind
  /** Its request is over, and its outcome is being recorded. */
  readonly answered: () => void
  readonly end: (end: AttemptEnd) => void
  readonly fail: () => void
}

const succeeded: AttemptEnd = { position: positionAt(1), isStillDue: false }
const collection = collectionOf(deliveries)

/** A read model that the test writes, and attempts that end when the test says so. */
const openStage = async () => {
  const documents = memoryDocuments(documentState())
  await documents.prepare(collection)
  const clock = manualClock()
  const begun: Array<Begun> = []
  const reads: Array<unknown> = []
  const sizes: Array<number> = []
  const shown: Array<() => void> = []
  const failing = new Set<unknown>()
  let isLagging = false
  let gate = Promise.resolve()
  let changes = 0
  const write = async (n: number, document: Json | undefined): Promise<void> => {
    changes += 1
    await documents.apply(
      collection,
      [{ key: deliveryId(n), document, position: positionAt(changes) }],
      positionAt(changes),
    )
  }
  const tried = failingWork(turnTime)
  const tested = scheduler({
    attempt: (_queue, id, kind, answered) =>
      new Promise((end, reject) => {
        begun.push({ id, kind, answered, end, fail: () => reject(new Error('the outcome could not be recorded')) })
      }),
    documents: {
      ...documents,
      find: async (of, query) => {
        const [equals] = query.equals
        reads.push(equals)
        const found = await documents.find(of, query)
        if (E.isRight(found)) sizes.push(found.right.length)
        await gate
        return failing.delete(equals) ? E.left({ kind: 'unavailable', reason: 'the test says so' }) : found
      },
    },
    clock,
    logger: recordingLogger(),
    store: { readLast: () => Promise.resolve(E.right([{ position: positionAt(changes) }] as never)) },
    deliveriesFollower: {
      caughtUpTo: () => (isLagging ? new Promise((resolve) => shown.push(resolve)) : Promise.resolve()),
    },
    backoff: nextTurn,
    failingWork: tried,
  })
  const remove = (n: number): Promise<void> => write(n, undefined)

  return {
    ...tested,
    /** Why something is tried again. */
    retrying: tried.reason,
    /** A delivery became due. */
    schedule: (queue: WebhookQueue): void => tested.expect(queue, 'retry'),
    clock,
    begun,
    reads,
    /** How many documents each read found. */
    sizes,
    remove,
    openQueue: (n = 1): WebhookQueue & { readonly lease: ReturnType<typeof testLease> } => {
      const lease = testLease(`shard ${n}`)
      return { ...webhookQueue(webhookId(n), lease), lease }
    },
    /** The delivery number `n` waits for an attempt, in the queue of the webhook number `to`. */
    put: (n: number, kind: AttemptKind, due = at(n), to = 1): Promise<void> =>
      write(n, {
        id: deliveryId(n),
        ...(kind === 'resend'
          ? { resend: webhookId(to), resend_at: due }
          : { queue: queueOf(webhookId(to), kind), next_attempt_at: due }),
      }),
    /** The delivery number `n` waits for a retry, in a schedule that began at `since`. */
    retry: (n: number, due: Instant, since: Instant): Promise<void> =>
      write(n, {
        id: deliveryId(n),
        queue: queueOf(webhookId(), 'retry'),
        next_attempt_at: due,
        failing_since: since,
      }),
    /** The read model lags behind until the function that this returns is called. */
    lag: (): (() => void) => {
      isLagging = true
      return () => {
        isLagging = false
        for (const resolve of shown.splice(0)) resolve()
      }
    },
    /** Each read that begins gets its answer only when the function that this returns is called. */
    holdReads: (): (() => void) => {
      let open = (): void => undefined
      gate = new Promise((resolve) => (open = resolve))
      return open
    },
    /** The next read of each of these fails. */
    failReads: (...of: ReadonlyArray<unknown>): void => {
      for (const equals of of) failing.add(equals)
    },
    /** The attempt that was begun as the `nth`, from 0 on, ends, and its delivery is over. */
    succeed: async (nth: number): Promise<void> => {
      const one = begun[nth]
      if (one === undefined) throw new Error(`there is no attempt ${nth}`)
      await remove(Number(one.id.slice(4)))
      one.end(succeeded)
      await settled()
    },
    numbers: (): ReadonlyArray<number> => begun.map(({ id }) => Number(id.slice(4))),
  }
}

const upTo = (last: number): ReadonlyArray<number> => Array.from({ length: last }, (_, n) => n + 1)

test('first attempts are begun before resends, and those before retries, which have every second slot, and what is caught up with comes last', async (t) => {
  const { schedule, openQueue, put, begun, succeed, numbers } = await openStage()
  const queue = openQueue()
  queue.limit = { requests: 1, isSlow: true }
  // What is due longest comes last here.
  for (const [n, kind] of [
    [1, 'caught-up'],
    [2, 'caught-up'],
    [3, 'retry'],
    [4, 'retry'],
    [5, 'resend'],
    [6, 'resend'],
    [7, 'first'],
    [8, 'first'],
  ] as const) {
    await put(n, kind, at(n - 10))
  }
  schedule(queue)
  for (let nth = 0; nth < 8; nth += 1) {
    await settled()
    t.is(begun.length, nth + 1)
    await succeed(nth)
  }
  t.deepEqual(numbers(), [7, 3, 8, 4, 5, 6, 1, 2])
  t.deepEqual(
    begun.map(({ kind }) => kind),
    ['first', 'retry', 'first', 'retry', 'resend', 'resend', 'caught-up', 'caught-up'],
  )
})

test('every second slot goes to the due retry that fails longest, however much else is due', async (t) => {
  const { schedule, openQueue, put, retry, succeed, begun, numbers, sizes } = await openStage()
  const queue = openQueue()
  queue.limit = { requests: 1, isSlow: true }
  for (const n of upTo(60)) await put(n, n % 2 === 0 ? 'first' : 'resend')
  for (const n of upTo(100)) await retry(100 + n, at(-1_000 + n), at(-5_000 + n))
  // It became due last, and its schedule began first.
  await retry(300, at(-1), at(-90_000))
  schedule(queue)
  for (let nth = 0; nth < 40; nth += 1) {
    await settled()
    await succeed(nth)
  }
  t.deepEqual(
    begun.slice(0, 40).map(({ kind }) => kind === 'retry'),
    upTo(40).map((nth) => nth % 2 === 0),
  )
  t.is(numbers()[1], 300)
  t.true(Math.max(...sizes) <= 65, `${Math.max(...sizes)} documents were read at once`)
})

test('while no retry is due none is looked for, however many attempts are made', async (t) => {
  const { schedule, openQueue, put, clock, succeed, numbers, reads } = await openStage()
  for (const n of upTo(40)) await put(n, 'first')
  await put(50, 'retry', later(clock.now(), 15_000))
  schedule(openQueue())
  await settled()
  for (const n of upTo(20)) await succeed(n - 1)
  t.is(reads.filter((part) => part === queueOf(webhookId(), 'retry')).length, 1)
  t.true(clock.toNextTimer())
  await settled()
  await succeed(20)
  t.true(numbers().includes(50))
})

test('a webhook has as many requests open as its limit allows, and each that ends leaves room for the next', async (t) => {
  const { schedule, openQueue, put, succeed, numbers, inFlight } = await openStage()
  for (const n of upTo(20)) await put(n, 'first')
  const queue = openQueue()
  schedule(queue)
  await settled()
  t.deepEqual(numbers(), upTo(8))
  await succeed(3)
  t.deepEqual(numbers(), upTo(9))
  queue.limit = { requests: 4, isSlow: false }
  for (const nth of [0, 1, 2, 4]) await succeed(nth)
  t.is(inFlight(), 4)
  t.is(numbers().length, 9)
  await succeed(5)
  t.deepEqual(numbers(), upTo(10))
})

test('while few attempts are in flight, one that was answered leaves its place before its outcome is recorded', async (t) => {
  const { schedule, openQueue, put, begun, succeed, numbers, inFlight } = await openStage()
  for (const n of upTo(60)) await put(n, 'first')
  schedule(openQueue())
  await settled()
  t.is(inFlight(), 8)
  begun[0]?.answered()
  await settled()
  t.deepEqual(numbers(), upTo(9))
  await succeed(0)
  t.deepEqual(numbers(), upTo(9))
  // However many wait to be recorded, more than eight are never open, and more than 32 never in flight.
  for (let nth = 1; nth < begun.length; nth += 1) {
    begun[nth]?.answered()
    await settled()
  }
  t.is(inFlight(), 32)
  await succeed(1)
  t.is(inFlight(), 32)
})

test('while many attempts are in flight, one that was answered keeps its place until its outcome is recorded', async (t) => {
  const { schedule, openQueue, put, begun, succeed, inFlight } = await openStage()
  for (const n of upTo(5 * 8)) await put(n, 'first', at(n), 1 + (n % 4))
  for (const n of upTo(4)) schedule(openQueue(n))
  await settled()
  t.is(inFlight(), 32)
  begun[0]?.answered()
  await settled()
  t.is(begun.length, 32)
  await succeed(0)
  t.is(begun.length, 33)
})

test('an attempt that was answered leaves its place also where few are in flight only later', async (t) => {
  const { schedule, openQueue, put, begun, succeed, numbers } = await openStage()
  for (const n of upTo(4 * 8)) await put(n, 'first', at(n), Math.ceil(n / 8))
  await put(40, 'first')
  for (const n of upTo(4)) schedule(openQueue(n))
  await settled()
  t.is(begun.length, 32)
  const ofFirst = begun.findIndex(({ id }) => id === deliveryId(1))
  const ofSecond = begun.findIndex(({ id }) => id === deliveryId(9))
  begun[ofFirst]?.answered()
  await settled()
  t.is(begun.length, 32)
  // Another webhook, to which nothing more is due, makes room.
  await succeed(ofSecond)
  t.is(numbers().at(-1), 40)
})

test('where nothing waits for the place of an attempt that was answered the read model is not asked for it', async (t) => {
  const { schedule, openQueue, put, begun, reads } = await openStage()
  await put(1, 'first')
  schedule(openQueue())
  await settled()
  const before = reads.length
  begun[0]?.answered()
  await settled()
  t.is(reads.length, before)
})

test('an answered attempt whose outcome could not be recorded leaves no more than one place', async (t) => {
  const { schedule, openQueue, put, begun, inFlight } = await openStage()
  for (const n of upTo(20)) await put(n, 'first')
  schedule(openQueue())
  await settled()
  begun[0]?.answered()
  await settled()
  begun[0]?.fail()
  await settled()
  t.is(begun.length, 9)
  t.is(inFlight(), 8)
})

test('no slot is left free where what was read ahead comes to its end', async (t) => {
  const { schedule, openQueue, put, succeed, numbers } = await openStage()
  for (const n of upTo(2)) await put(n, 'first')
  const queue = openQueue()
  queue.limit = { requests: 1, isSlow: false }
  schedule(queue)
  await settled()
  t.deepEqual(numbers(), [1])
  for (const n of [3, 4]) await put(n, 'first')
  queue.limit = { requests: 3, isSlow: false }
  await succeed(0)
  t.deepEqual(numbers(), [1, 2, 3, 4])
})

test('while webhooks wait for a slot none takes one that is kept for another: many that fall silent have soon had a turn', async (t) => {
  const { schedule, openQueue, put, remove, begun, numbers } = await openStage()
  const [webhooks, each, slots] = [160, 8, 256]
  const webhookOf = (n: number): number => Math.ceil(n / each)
  for (const n of upTo(webhooks * each)) await put(n, 'first', at(n), webhookOf(n))
  for (const n of upTo(webhooks)) schedule(openQueue(n))
  await settled()
  t.is(begun.length, slots)
  t.is(new Set(numbers().map(webhookOf)).size, slots / each)
  for (const n of numbers()) await remove(n)
  for (const { end } of begun.slice()) end(succeeded)
  await settled()
  await settled()
  t.is(begun.length, 2 * slots)
  t.deepEqual(new Set(numbers().map(webhookOf)), new Set(upTo(webhooks)))
})

test('first attempts are read ahead: the read model is asked for 64 of them at once', async (t) => {
  const { schedule, openQueue, put, succeed, numbers, reads } = await openStage()
  for (const n of upTo(64)) await put(n, 'first')
  schedule(openQueue())
  await settled()
  for (let nth = 0; nth < 55; nth += 1) await succeed(nth)
  t.is(numbers().length, 63)
  t.is(reads.filter((queue) => queue === queueOf(webhookId(), 'first')).length, 1)
})

test('resends and catching up are looked for at first, and then only where there may be some', async (t) => {
  const { schedule, expect, openQueue, put, succeed, numbers, reads } = await openStage()
  const queue = openQueue()
  const seldomReads = (): number =>
    reads.filter((equals) => equals === webhookId() || equals === queueOf(webhookId(), 'caught-up')).length
  schedule(queue)
  await settled()
  t.is(seldomReads(), 2)
  await put(1, 'resend')
  await put(2, 'caught-up')
  await put(3, 'first')
  schedule(queue)
  await settled()
  await succeed(0)
  t.is(seldomReads(), 2)
  expect(queue, 'resend')
  await settled()
  t.deepEqual(numbers(), [3, 1])
  expect(queue, 'caught-up')
  await settled()
  t.deepEqual(numbers(), [3, 1, 2])
})

test('a retry is begun when it is due, and not before', async (t) => {
  const { schedule, openQueue, put, clock, numbers } = await openStage()
  await put(1, 'retry', later(clock.now(), 60_000))
  await put(2, 'retry', later(clock.now(), 15_000))
  schedule(openQueue())
  await settled()
  t.deepEqual(numbers(), [])
  t.true(clock.toNextTimer())
  await settled()
  t.is(clock.now(), at(15_000))
  t.deepEqual(numbers(), [2])
  t.true(clock.toNextTimer())
  await settled()
  t.is(clock.now(), at(60_000))
  t.deepEqual(numbers(), [2, 1])
})

test('a delivery that was tried is not begun again before the read model shows how the attempt ended', async (t) => {
  const { schedule, openQueue, put, lag, begun, numbers } = await openStage()
  const queue = openQueue()
  await put(1, 'first')
  schedule(queue)
  await settled()
  const show = lag()
  begun[0]?.end({ position: positionAt(2), isStillDue: true })
  schedule(queue)
  await settled()
  t.deepEqual(numbers(), [1])
  await put(1, 'retry', at())
  show()
  await settled()
  t.deepEqual(numbers(), [1, 1])
  t.is(begun[1]?.kind, 'retry')
})

test('a resend that is requested while an attempt of the delivery is in flight is begun after it', async (t) => {
  const { schedule, expect, openQueue, put, lag, begun, numbers } = await openStage()
  const queue = openQueue()
  await put(1, 'first')
  schedule(queue)
  await settled()
  await put(1, 'resend')
  expect(queue, 'resend')
  await settled()
  t.deepEqual(numbers(), [1])
  const show = lag()
  begun[0]?.end(succeeded)
  await settled()
  t.deepEqual(numbers(), [1])
  show()
  await settled()
  t.deepEqual(numbers(), [1, 1])
  t.is(begun[1]?.kind, 'resend')
})

test('what becomes due while the read model is read is begun too', async (t) => {
  const { schedule, openQueue, put, holdReads, numbers } = await openStage()
  const queue = openQueue()
  const answer = holdReads()
  schedule(queue)
  await put(1, 'first')
  schedule(queue)
  await settled()
  t.deepEqual(numbers(), [])
  answer()
  await settled()
  t.deepEqual(numbers(), [1])
})

for (const kind of ['first', 'resend', 'retry', 'caught-up'] as const) {
  test(`an attempt that could not be recorded is made again: ${kind}`, async (t) => {
    const { schedule, openQueue, put, begun, numbers, succeed, retrying } = await openStage()
    await put(1, kind, at())
    schedule(openQueue())
    await settled()
    t.is(retrying(), undefined)
    begun[0]?.fail()
    await settled()
    t.deepEqual(numbers(), [1, 1])
    t.is(begun[1]?.kind, kind)
    t.regex(retrying() ?? '', /^an exception \(Error/)
    await succeed(1)
    t.is(retrying(), undefined)
  })
}

test('what failed is told of no longer than the shard of its webhook is held', async (t) => {
  const { schedule, openQueue, put, begun, failReads, retrying } = await openStage()
  const queues = [openQueue(1), openQueue(2)]
  await put(1, 'first')
  await put(2, 'first', at(2), 2)
  queues.forEach(schedule)
  await settled()
  begun[0]?.fail()
  failReads(queueOf(webhookId(2), 'retry'))
  schedule(queues[1] ?? openQueue())
  queues[1]?.lease.recall()
  await settled()
  t.is(retrying(), 'an exception (Error)')
  queues[0]?.lease.recall()
  await settled()
  t.is(retrying(), undefined)
})

test('an attempt that could not be recorded is not made again before the read model shows all that may have been', async (t) => {
  const { schedule, openQueue, put, lag, begun, clock, numbers } = await openStage()
  await put(1, 'first')
  schedule(openQueue())
  await settled()
  const catchUp = lag()
  begun[0]?.fail()
  await settled()
  t.deepEqual(numbers(), [1])
  await put(1, 'retry', later(at(), 1_000))
  catchUp()
  await settled()
  t.deepEqual(numbers(), [1])
  t.true(clock.toNextTimer())
  await settled()
  t.deepEqual(numbers(), [1, 1])
})

test('however many deliveries are set aside, the others of the webhook are begun, and a queue that is set aside begins none', async (t) => {
  const { put, openQueue, schedule, begun, sizes } = await openStage()
  const queue = openQueue()
  for (const n of upTo(1_000)) {
    await put(n, n % 2 === 0 ? 'first' : 'retry', at(n))
    queue.setAside.set(deliveryId(n), parkedEventId())
  }
  await put(1_001, 'first', at(1_001))
  await put(1_002, 'resend', at(1_002))
  queue.setAside.set(webhookId(), parkedEventId())
  schedule(queue)
  await settled()
  t.is(begun.length, 0)
  queue.setAside.delete(webhookId())
  schedule(queue)
  await settled()
  t.deepEqual(
    begun.map(({ id, kind }) => [id, kind]),
    [
      [deliveryId(1_001), 'first'],
      [deliveryId(1_002), 'resend'],
    ],
  )
  t.true(Math.max(...sizes) <= 1, `${Math.max(...sizes)} documents were read at once`)
})

test('a read model that can not be read is read again', async (t) => {
  const { schedule, openQueue, put, failReads, numbers, retrying } = await openStage()
  for (const [n, kind] of [
    [1, 'first'],
    [2, 'resend'],
    [3, 'retry'],
    [4, 'caught-up'],
  ] as const)
    await put(n, kind, at())
  const parts = [webhookId(), ...(['first', 'retry', 'caught-up'] as const).map((kind) => queueOf(webhookId(), kind))]
  failReads(...parts)
  schedule(openQueue())
  await until('a read is tried again', 30_000, () => retrying() !== undefined)
  t.is(retrying(), 'the test says so')
  await settled()
  t.deepEqual(numbers(), [1, 3, 2, 4])
  t.is(retrying(), undefined)
})

test('256 attempts are in flight at most, and a slot that is free goes to a queue that waits for one', async (t) => {
  const { schedule, openQueue, put, succeed, begun, inFlight } = await openStage()
  for (const n of upTo(34 * 8)) await put(n, 'first', at(n), 1 + (n % 34))
  for (const n of upTo(34)) schedule(openQueue(n))
  await settled()
  t.is(inFlight(), 256)
  for (let ended = 0; ended < 16; ended += 1) {
    await succeed(ended)
    t.is(inFlight(), 256)
  }
  t.is(begun.length, 34 * 8)
  await succeed(16)
  t.is(inFlight(), 255)
})

test('slots that become free while a queue begins to wait for one are not lost to it', async (t) => {
  const { schedule, openQueue, put, begun, inFlight } = await openStage()
  for (const n of upTo(33 * 8)) await put(n, 'first', at(n), 1 + (n % 33))
  for (const n of upTo(33)) schedule(openQueue(n))
  await settled()
  // All in one turn: the first slot wakes the queue that waits, which takes it while the others become free.
  for (const one of begun.slice(0, 8)) one.end(succeeded)
  await settled()
  t.is(begun.length, 33 * 8)
  t.is(inFlight(), 256)
})

test('a queue whose lease was lost leaves its slots to those that wait for one', async (t) => {
  const { schedule, openQueue, put, begun, inFlight } = await openStage()
  for (const n of upTo(33 * 8)) await put(n, 'first', at(n), 1 + (n % 33))
  const queues = upTo(33).map(openQueue)
  queues.forEach(schedule)
  await settled()
  queues[0]?.lease.recall()
  for (const one of begun.filter(({ id }) => queues[0]?.inFlight.has(id))) one.end(succeeded)
  await settled()
  t.is(begun.length, 33 * 8)
  t.is(inFlight(), 256)
})

test('slow webhooks have half of the slots together, and leave the others to the rest', async (t) => {
  const { schedule, openQueue, put, succeed, inFlight } = await openStage()
  for (const n of upTo(20 * 8)) await put(n, 'first', at(n), 1 + (n % 20))
  const queues = upTo(20).map(openQueue)
  for (const queue of queues) queue.limit = { requests: 8, isSlow: true }
  queues.forEach(schedule)
  await settled()
  t.is(inFlight(), 128)
  await put(1_000, 'first', at(), 21)
  schedule(openQueue(21))
  await settled()
  t.is(inFlight(), 129)
  await succeed(0)
  t.is(inFlight(), 129)
})

test('after the lease of a queue was lost nothing is begun, and it ends when no attempt is in flight', async (t) => {
  const { schedule, attemptsEnded, openQueue, put, clock, begun, inFlight } = await openStage()
  const queue = openQueue()
  for (const n of upTo(10)) await put(n, 'first')
  schedule(queue)
  await settled()
  queue.lease.recall()
  const ended = attemptsEnded(queue)
  for (const one of begun.slice(1)) one.end(succeeded)
  schedule(queue)
  await settled()
  t.is(begun.length, 8)
  t.false(await isOver(ended))
  begun[0]?.end(succeeded)
  t.true(await isOver(ended))
  t.is(inFlight(), 0)
  t.false(clock.toNextTimer())
})

test('a queue whose lease is lost while the read model is read begins nothing and leaves no timer behind', async (t) => {
  const { schedule, attemptsEnded, openQueue, put, holdReads, clock, begun } = await openStage()
  await put(1, 'retry', at(15_000))
  const waiting = openQueue()
  schedule(waiting)
  await settled()
  await put(2, 'first')
  const filling = openQueue()
  const answer = holdReads()
  schedule(filling)
  for (const queue of [waiting, filling]) {
    queue.lease.recall()
    await attemptsEnded(queue)
  }
  answer()
  await settled()
  t.deepEqual(begun, [])
  t.false(clock.toNextTimer())
})

test('while the read model stands still a fixed number of deliveries waits for it, and the others are begun once it goes on', async (t) => {
  const { schedule, openQueue, put, remove, lag, begun } = await openStage()
  const queue = openQueue()
  for (const n of upTo(1_500)) await put(n, 'first')
  const release = lag()
  schedule(queue)
  let ended = 0
  /** The store takes the outcomes, `shown` by the read model or not. */
  const endAll = async (shown: boolean): Promise<void> => {
    await settled()
    while (ended < begun.length) {
      const open = begun.slice(ended)
      ended = begun.length
      if (shown) for (const { id } of open) await remove(Number(id.slice(4)))
      for (const { end } of open) end({ position: positionAt(5_000), isStillDue: false })
      await settled()
    }
  }
  await endAll(false)
  t.true(ended >= 900 && ended <= 1_008, `${ended} attempts`)
  t.true(queue.reserved.size <= 1_064, `${queue.reserved.size} reserved`)
  for (const { id } of begun) await remove(Number(id.slice(4)))
  release()
  await endAll(true)
  t.is(begun.length, 1_500)
})

test('the read model is read for eight queues at once at most, and each has its turn', async (t) => {
  const { put, schedule, reads, holdReads, openQueue, begun } = await openStage()
  const webhooks = Array.from({ length: 20 }, (_, n) => n + 1)
  for (const n of webhooks) await put(n, 'first', at(n), n)
  const answer = holdReads()
  for (const n of webhooks) schedule(openQueue(n))
  await settled()
  t.is(reads.length, 8)
  answer()
  await settled()
  t.deepEqual(begun.map(({ id }) => id).toSorted(), webhooks.map((n) => deliveryId(n)).toSorted())
})
