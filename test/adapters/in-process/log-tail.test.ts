import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { liveSubscription } from '../../../adapters/in-process/live-subscription.js'
import { logTail, type LogEntry, type LogTail } from '../../../adapters/in-process/log-tail.js'
import type { Category, RecordedEvent } from '../../../domain/events.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { EventBatch, EventStore } from '../../../domain/ports.js'
import { UndecodableEvent } from '../../../domain/store-failed.js'
import { categoryOf } from '../../../domain/stream-name.js'
import { eventIds, newEvent } from '../../kit/domain/new-events.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { reachable } from '../../kit/parts/reachable.js'
import { nextTurn } from '../../kit/time/turns.js'
import { positionAt } from '../../kit/domain/samples.js'

type Event = RecordedEvent

const eventAt = (position: number, category: Category = 'account'): Event => ({
  ...newEvent(position),
  stream: `${category}-${position}`,
  revision: 0,
  position: positionAt(position),
})

/** Events at these positions. */
const eventsAt = (...positions: ReadonlyArray<number>): ReadonlyArray<Event> =>
  positions.map((position) => eventAt(position))

const all = (): boolean => true

const positionsOf = ({ events }: EventBatch): ReadonlyArray<Position> => events.map(({ position }) => position)

test('a subscriber gets what was added after its position, up to the position of the last batch', (t) => {
  const tail = logTail(positionAt(10), { events: 100, bytes: Infinity })
  tail.add(positionAt(10), { entries: eventsAt(11, 12), position: positionAt(12) })
  tail.add(positionAt(12), { entries: eventsAt(15), position: positionAt(20) })
  t.deepEqual(tail.after(positionAt(10), all, 10), { entries: eventsAt(11, 12, 15), position: positionAt(20) })
  t.deepEqual(tail.after(positionAt(11), all, 10), { entries: eventsAt(12, 15), position: positionAt(20) })
  t.deepEqual(tail.after(positionAt(13), all, 10), { entries: eventsAt(15), position: positionAt(20) })
  t.deepEqual(tail.after(positionAt(15), all, 10), { entries: [], position: positionAt(20) })
  t.deepEqual(tail.after(positionAt(20), all, 10), { entries: [], position: positionAt(20) })
  t.deepEqual(tail.after(positionAt(25), all, 10), { entries: [], position: positionAt(25) })
})

test('a page that is full ends at its last event, wanted or not', (t) => {
  const tail = logTail(positionAt(0), { events: 100, bytes: Infinity })
  tail.add(positionAt(0), { entries: eventsAt(1, 2, 3, 4), position: positionAt(9) })
  const isEven = ({ position }: LogEntry): boolean => position % 2n === 0n
  t.deepEqual(tail.after(positionAt(0), isEven, 3), { entries: eventsAt(2), position: positionAt(3) })
  t.deepEqual(tail.after(positionAt(3), isEven, 3), { entries: eventsAt(4), position: positionAt(9) })
})

test('a position before the tail is told apart from one after which there is no event', (t) => {
  const tail = logTail(positionAt(10), { events: 100, bytes: Infinity })
  t.is(tail.after(positionAt(9), all, 10), undefined)
  t.deepEqual(tail.after(positionAt(10), all, 10), { entries: [], position: positionAt(10) })
})

test('the tail holds at least as many events as its capacity says, and not many more', (t) => {
  const tail = logTail(positionAt(0), { events: 5, bytes: Infinity })
  for (let n = 1; n <= 1_000; n += 1) {
    tail.add(positionAt(n - 1), { entries: eventsAt(n), position: positionAt(n) })
    const newest = tail.after(positionAt(Math.max(0, n - 5)), all, 100)
    t.is(newest?.entries.length, Math.min(n, 5))
    if (n > 11) t.is(tail.after(positionAt(n - 11), all, 100), undefined)
  }
})

test('of large events the tail holds fewer, by their bytes', async (t) => {
  const tail = logTail(positionAt(0), { events: 1_000, bytes: 1_000_000 })
  const { watch, count } = reachable()
  const add = (n: number): void => {
    const event = { ...eventAt(n), data: { body: 'x'.repeat(50_000) } } as unknown as Event
    watch(event)
    tail.add(positionAt(n - 1), { entries: [event], position: positionAt(n) })
  }
  for (let n = 1; n <= 500; n += 1) add(n)
  const held = await count()
  t.true(held >= 9 && held <= 20, `${held}`)
  t.is(tail.after(positionAt(495), all, 100)?.entries.length, 5)
  t.is(tail.after(positionAt(400), all, 100), undefined)
})

test('a gap in the tail never passes for a stretch of the log without events', (t) => {
  const tail = logTail(positionAt(0), { events: 100, bytes: Infinity })
  tail.add(positionAt(0), { entries: eventsAt(1), position: positionAt(1) })
  tail.add(positionAt(5), { entries: eventsAt(6), position: positionAt(6) })
  for (const position of [positionAt(0), positionAt(1), positionAt(4)]) t.is(tail.after(position, all, 10), undefined)
  t.deepEqual(tail.after(positionAt(5), all, 10), { entries: eventsAt(6), position: positionAt(6) })
})

test('a subscriber waits until the next batch or its own signal, and for no other signal', async (t) => {
  const tail = logTail(positionAt(0), { events: 10, bytes: Infinity })
  const [one, two] = [new AbortController(), new AbortController()]
  let woken = ''
  const waiting = [one, two].map(({ signal }, index) => tail.changed(signal).then(() => (woken += `${index}`)))
  await nextTurn()
  t.is(woken, '')
  one.abort()
  await waiting[0]
  await nextTurn()
  t.is(woken, '0')
  tail.add(positionAt(0), { entries: [], position: positionAt(3) })
  await Promise.all(waiting)
  t.is(woken, '01')
  await tail.changed(AbortSignal.abort())
})

/** Where the tail holds all that is asked for. */
const noHistory: EventStore['history'] = async function* () {
  // There is nothing before the tail.
}

test('what is added in one turn of the event loop comes in one batch', async (t) => {
  const tail = logTail(positionAt(0), { events: 100, bytes: Infinity })
  const subscription = liveSubscription(tail, noHistory, positionAt(0), ['account'], new AbortController().signal)
  const next = subscription.next()
  await nextTurn()
  for (let n = 1; n <= 3; n += 1) {
    tail.add(positionAt(n - 1), { entries: eventsAt(n), position: positionAt(n) })
    // As between two answers of the store.
    await Promise.resolve()
  }
  t.deepEqual((await next).value, { events: eventsAt(1, 2, 3), position: 3n })
})

/** A log, of which a process sees its own writes; `history` is what a store makes of it, in pages of some length. */
const openLog = (capacity: Parameters<typeof logTail>[1], page: number, head: number) => {
  const log: Array<Event> = []
  let end: Position = beginning
  const write = (events: ReadonlyArray<Event>, position: Position): void => {
    log.push(...events)
    end = position
  }
  let histories = 0
  async function* history(after: Position, categories: ReadonlyArray<Category>): AsyncGenerator<EventBatch> {
    histories += 1
    const last = end
    let position = after
    while (position < last) {
      const stretch = log.filter((event) => event.position > position && event.position <= last).slice(0, page)
      position = stretch.length < page ? last : (stretch.at(-1)?.position ?? last)
      const wanted = stretch.filter(({ stream }) => categories.some((category) => categoryOf(stream) === category))
      yield { events: wanted, position }
      await Promise.resolve()
    }
  }
  write(
    Array.from({ length: head }, (_, index) => eventAt(index + 1, index % 3 === 0 ? 'contact' : 'account')),
    positionAt(head),
  )
  const tail: LogTail = logTail(positionAt(head), capacity)
  return { log, tail, history: history as EventStore['history'], write, histories: () => histories }
}

/** What is written at once: how many events, and how many positions lie between two of them. */
type Written = {
  readonly events: ReadonlyArray<Category>
  readonly space: number
  /** Positions after the last event that the batch covers too. */
  readonly beyond: number
  /** The answer to the append was lost, so that the tail never learns of it. */
  readonly isLost: boolean
  /** Turns that the consumer gets before the next one. */
  readonly turns: number
}

const written: fc.Arbitrary<Written> = fc.record({
  events: fc.array(fc.constantFrom<Category>('account', 'account', 'contact', 'lead'), { maxLength: 8 }),
  space: fc.integer({ min: 1, max: 3 }),
  beyond: fc.nat(2),
  isLost: fc.constantFrom(false, false, false, true),
  turns: fc.nat(6),
})

/** Gives pending promises and immediates so many turns. */
const runTurns = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) {
    if (turn % 2 === 0) await Promise.resolve()
    else await nextTurn()
  }
}

test('each wanted event after the start comes once and in order, whatever the pace of writer and reader', async (t) => {
  const settings = fc.record({
    capacity: fc.record({ events: fc.integer({ min: 1, max: 12 }), bytes: fc.constantFrom(Infinity, 4_000, 1) }),
    page: fc.integer({ min: 1, max: 5 }),
    head: fc.nat(10),
    start: fc.nat(10),
    categories: fc.subarray<Category>(['account', 'contact'], { minLength: 1 }),
    paces: fc.array(fc.nat(8), { minLength: 1, maxLength: 10 }),
    writes: fc.array(written, { maxLength: 25 }),
  })
  let readsOfHistory = 0
  const property = fc.asyncProperty(settings, async ({ capacity, page, head, start, categories, paces, writes }) => {
    const { log, tail, history, write, histories } = openLog(capacity, page, head)
    const after = positionAt(Math.min(start, head))
    const stopping = new AbortController()
    const batches: Array<EventBatch> = []
    const reading = (async () => {
      for await (const batch of liveSubscription(tail, history, after, categories, stopping.signal)) {
        batches.push(batch)
        if (batch.events.some(({ stream }) => stream.endsWith('-last'))) stopping.abort()
        await runTurns(paces[batches.length % paces.length] ?? 0)
      }
    })()
    let end = positionAt(head)
    const add = (events: ReadonlyArray<Event>, position: Position, isLost: boolean): void => {
      write(events, position)
      if (!isLost) tail.add(end, { entries: events, position })
      end = position
    }
    for (const { events: kinds, space, beyond, isLost, turns } of writes) {
      const events = kinds.map((category, index) => eventAt(Number(end) + (index + 1) * space, category))
      const last = events.at(-1)?.position ?? end
      add(events, positionAt(last + BigInt(beyond)), isLost)
      await runTurns(turns)
    }
    const [category = 'account'] = categories
    add([{ ...eventAt(Number(end) + 1), stream: `${category}-last` }], positionAt(end + 1n), false)
    await reading
    const wanted = log.filter(
      ({ stream, position }) => position > after && categories.some((one) => categoryOf(stream) === one),
    )
    assert.deepEqual(eventIds(batches.flatMap(({ events }) => events)), eventIds(wanted))
    let before = after
    for (const batch of batches) {
      assert.ok(batch.position > before)
      assert.ok(positionsOf(batch).every((position) => position > before && position <= batch.position))
      before = batch.position
    }
    assert.equal(before, end)
    readsOfHistory += histories()
  })
  await holdsAsync(t, property, { numRuns: 300 })
  t.true(readsOfHistory > 100, `${readsOfHistory} histories`)
})

test('a subscription that keeps up with the log never reads the history', async (t) => {
  const { tail, history, write, histories } = openLog({ events: 4, bytes: Infinity }, 3, 5)
  const stopping = new AbortController()
  const seen: Array<string> = []
  const reading = (async () => {
    for await (const { events } of liveSubscription(tail, history, positionAt(5), ['account'], stopping.signal)) {
      seen.push(...eventIds(events))
      if (seen.length === 50) stopping.abort()
    }
  })()
  const events = Array.from({ length: 50 }, (_, index) => eventAt(index + 6))
  for (const event of events) {
    write([event], event.position)
    tail.add(positionAt(event.position - 1n), { entries: [event], position: event.position })
    await nextTurn()
  }
  await reading
  t.deepEqual(seen, eventIds(events))
  t.is(histories(), 0)
})

test('a subscriber that the tail has dropped, or that meets a gap in it, reads the history once and goes on live', async (t) => {
  const { tail, history, write, histories } = openLog({ events: 2, bytes: Infinity }, 100, 0)
  const add = (position: number, isLost = false): void => {
    const event = eventAt(position)
    write([event], event.position)
    if (!isLost) tail.add(positionAt(event.position - 1n), { entries: [event], position: event.position })
  }
  const stopping = new AbortController()
  const subscription = liveSubscription(tail, history, positionAt(0), ['account'], stopping.signal)
  for (let n = 1; n <= 10; n += 1) add(n)
  t.deepEqual((await subscription.next()).value, { events: eventsAt(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), position: 10n })
  t.is(histories(), 1)
  add(11)
  t.deepEqual((await subscription.next()).value, { events: eventsAt(11), position: 11n })
  t.is(histories(), 1)
  add(12, true)
  add(13)
  t.deepEqual((await subscription.next()).value, { events: eventsAt(12, 13), position: 13n })
  t.is(histories(), 2)
  const waiting = subscription.next()
  stopping.abort()
  t.deepEqual(await waiting, { done: true, value: undefined })
})

test('a subscription that is aborted while it reads the history gives nothing more', async (t) => {
  const { tail, history } = openLog({ events: 2, bytes: Infinity }, 1, 10)
  const stopping = new AbortController()
  const batches: Array<EventBatch> = []
  for await (const batch of liveSubscription(tail, history, positionAt(0), ['account', 'contact'], stopping.signal)) {
    batches.push(batch)
    stopping.abort()
  }
  t.is(batches.length, 1)
})

const unreadable: LogEntry = {
  stream: 'account-2',
  revision: 0,
  position: positionAt(2),
  id: 'any',
  type: 'AccountVanished',
  failure: { kind: 'corrupt', reason: 'it is unreadable' },
}

test('what is truncated is given to nobody any more, whether it can be decoded or not', (t) => {
  const tail = logTail(positionAt(0), { events: 100, bytes: Infinity })
  tail.add(positionAt(0), { entries: [eventAt(1), unreadable, eventAt(3)], position: positionAt(3) })
  for (const stream of ['account-1', 'account-2']) tail.truncate({ stream, before: 1 })
  t.deepEqual(tail.after(positionAt(0), all, 10), { entries: [eventAt(3)], position: positionAt(3) })
})

test('an event that can not be decoded ends the subscriptions to its category after what comes before it, and no others', async (t) => {
  const tail = logTail(positionAt(0), { events: 100, bytes: Infinity })
  const entries = [eventAt(1), unreadable, eventAt(3, 'lead')]
  tail.add(positionAt(0), { entries, position: positionAt(3) })
  const live = (category: Category) =>
    liveSubscription(tail, noHistory, positionAt(0), [category], new AbortController().signal)[Symbol.asyncIterator]()

  const accounts = live('account')
  t.deepEqual((await accounts.next()).value, { events: eventsAt(1), position: 1n })
  await t.throwsAsync(() => accounts.next(), {
    instanceOf: UndecodableEvent,
    message: 'it is unreadable, at position 2 of account-2',
  })
  const leads = live('lead')
  t.deepEqual((await leads.next()).value, { events: [eventAt(3, 'lead')], position: 3n })
})

test('whoever gives up waiting for a log that does not grow leaves nothing behind', async (t) => {
  const tail = logTail(positionAt(0), { events: 100, bytes: Infinity })
  const { watch, count } = reachable()
  const giveUp = (): void => {
    const givingUp = new AbortController()
    watch(tail.changed(givingUp.signal))
    givingUp.abort()
  }
  for (let n = 0; n < 100; n += 1) giveUp()
  t.is(await count(), 0)
  t.deepEqual(tail.after(positionAt(0), all, 1), { entries: [], position: positionAt(0) })
})
