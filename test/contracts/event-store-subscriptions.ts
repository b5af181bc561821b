import { randomUUID } from 'node:crypto'
import { neverAborted } from '../../domain/abortable.js'
import { beginning, positionOf, type Position, type Revision } from '../../domain/event.js'
import { categories, type Category } from '../../domain/events.js'
import type { Appended, EventStore } from '../../domain/ports.js'
import { rightOf } from '../kit/right-of.js'
import type { Behaviour } from './behaviour.js'
import {
  append,
  collect,
  enabled,
  freshStream,
  historyOf,
  idsOf,
  inOrder,
  many,
  newEvent,
  recorded,
  eventsUntil,
  eventsUntilMarker,
  writeTo,
  type Event,
  type OpenStore,
  type Placed,
} from './event-store-fixtures.js'
import { endedWith } from '../kit/parts/ended-with.js'
import { nextTurn } from '../kit/time/turns.js'

/** What histories and subscriptions give of the whole log. */
export const eventStoreSubscriptions = (behaviour: Behaviour<OpenStore>): void => {
  behaviour('positions increase in the order of the appends, across streams and within them', async (t, { store }) => {
    const appended: Array<Event> = []
    for (const category of ['account', 'engagement', 'account', 'contact'] as const) {
      appended.push(...(await append(store, freshStream(category), 'no-stream', many(3))))
    }
    const positions = appended.map(({ position }) => position)
    t.deepEqual(
      positions,
      [...new Set(positions)].toSorted((one, other) => (one < other ? -1 : 1)),
    )
    t.true(positions.every((position) => position > beginning))
  })

  behaviour('the head is the position of the last event', async (t, { store }) => {
    const [first] = await append(store, freshStream('account'), 'no-stream', [enabled()])
    const head = rightOf(await store.head())
    t.true(first !== undefined && head >= first.position)
    const [second] = await append(store, freshStream('engagement'), 'no-stream', [enabled()])
    t.true(second !== undefined && head < second.position)
  })

  behaviour('history gives the events of its categories alone, in the order of the log', async (t, { store }) => {
    const start = rightOf(await store.head())
    const written = await writeTo(store, ['account', 'conversion_contact', 'conversion', 'account', 'conversion'])
    const streams = written.map(({ stream }) => stream)
    const of = (categories: ReadonlyArray<Category>): ReadonlyArray<Event> =>
      written.filter(({ stream }) => categories.some((category) => stream.startsWith(`${category}-`)))
    for (const categories of [
      ['account'],
      ['account', 'conversion'],
      ['conversion_contact', 'lead'],
      ['lead'],
    ] as const) {
      t.deepEqual(await historyOf(store, start, categories, streams), of(categories), categories.join())
      t.deepEqual(await historyOf(store, beginning, categories, streams), of(categories), categories.join())
    }
  })

  behaviour('history begins right after its position and ends at the head of its beginning', async (t, { store }) => {
    const written = await writeTo(store, ['account', 'engagement', 'account', 'account'])
    const streams = written.map(({ stream }) => stream)
    for (const [index, { position }] of written.entries()) {
      const expected = written.slice(index + 1).filter(({ stream }) => stream.startsWith('account-'))
      t.deepEqual(await historyOf(store, position, ['account'], streams), expected)
    }
    t.deepEqual(await historyOf(store, rightOf(await store.head()), ['account'], streams), [])
  })

  behaviour('a long history comes complete, in batches whose positions only grow', async (t, { store }) => {
    const start = rightOf(await store.head())
    const streams = Array.from({ length: 12 }, (_, n) => freshStream(n % 2 === 0 ? 'account' : 'engagement'))
    const written = (await Promise.all(streams.map((stream) => append(store, stream, 'no-stream', many(200))))).flat()
    const head = rightOf(await store.head())
    for (const categories of [['account'], ['account', 'engagement']] as const) {
      const batches = await collect(store.history(start, categories, neverAborted))
      const positions = batches.map(({ position }) => position)
      t.deepEqual(
        positions,
        [...new Set(positions)].toSorted((one, other) => (one < other ? -1 : 1)),
      )
      t.true((positions.at(-1) ?? beginning) >= head)
      for (const { events, position } of batches) t.true(events.every((event) => event.position <= position))
      const expected = written.filter(({ stream }) => categories.some((category) => stream.startsWith(`${category}-`)))
      t.deepEqual(idsOf(batches.flatMap(({ events }) => events)), idsOf(inOrder(expected)))
    }
  })

  behaviour('a history that was read leaves nothing on the signal that would have ended it', async (t, { store }) => {
    const { signal } = new AbortController()
    const read = (): Promise<unknown> => collect(store.history(beginning, ['account'], signal))
    await read()
    const before = endedWith(signal)
    for (let n = 0; n < 5; n += 1) await read()
    t.is(endedWith(signal), before)
  })

  behaviour(
    'a subscription gives the history and then what is written, without gap or repeat',
    async (t, { store }) => {
      const start = rightOf(await store.head())
      const marker = freshStream('account')
      const following = eventsUntilMarker(store, start, ['account', 'engagement'], marker)
      const writers = Array.from({ length: 20 }, (_, n) => freshStream(n % 2 === 0 ? 'account' : 'engagement'))
      const written: Array<Placed> = []
      const late: Array<{ readonly from: Position; readonly events: Promise<ReadonlyArray<Event>> }> = []
      const write = async (stream: string): Promise<void> => {
        for (let revision: Revision = 'no-stream'; revision !== 119;) {
          const events = many(3)
          const appended: Appended = rightOf(await store.append(stream, revision, events))
          revision = appended.revision
          written.push(...events.map(({ id }) => ({ id, position: appended.position })))
          if (written.length % 600 !== 0) continue
          for (const from of [start, appended.position]) {
            late.push({ from, events: eventsUntilMarker(store, from, ['account', 'engagement'], marker) })
          }
        }
      }
      await Promise.all(writers.map(write))
      written.push(...(await append(store, marker, 'no-stream', [enabled()])))
      const log = inOrder(written)
      t.is(log.length, 2401)
      t.deepEqual(idsOf(await following), idsOf(log))
      t.true(late.length >= 8)
      for (const { from, events } of late) {
        t.deepEqual(idsOf(await events), idsOf(log.filter(({ position }) => position > from)))
      }
    },
  )

  behaviour('a live event arrives as it was written', async (t, { store }) => {
    const stream = freshStream('engagement')
    const head = rightOf(await store.head())
    const following = eventsUntilMarker(store, head, ['engagement'], stream)
    const appended = await append(store, stream, 'no-stream', [newEvent(recorded({ said: 'é\u0000' }))])
    t.deepEqual(await following, appended)
  })

  behaviour('a live subscription gives the events of its categories alone', async (t, { store }) => {
    const head = rightOf(await store.head())
    const marker = freshStream('contact')
    const following = eventsUntilMarker(store, head, ['contact'], marker)
    const written = await writeTo(store, ['account', 'contact', 'engagement', 'contact'])
    const last = await append(store, marker, 'no-stream', [enabled()])
    const expected = [...written.filter(({ stream }) => stream.startsWith('contact-')), ...last]
    t.deepEqual(idsOf(await following), idsOf(expected))
  })

  behaviour('the position of a subscription moves on over events of other categories', async (t, { store }) => {
    const start = rightOf(await store.head())
    await writeTo(store, ['account', 'account'])
    const head = rightOf(await store.head())
    t.deepEqual(await eventsUntil(store, start, ['contact'], ({ position }) => position >= head), [])
    const live = eventsUntil(store, start, ['contact'], ({ position }) => position > head)
    await writeTo(store, ['account'])
    t.deepEqual(await live, [])
  })

  behaviour('a slow consumer misses nothing, nor does a quick one beside it', async (t, { store }) => {
    const start = rightOf(await store.head())
    const marker = freshStream('account')
    const stopping = new AbortController()
    const subscription = store.subscribe(start, ['account', 'engagement'], stopping.signal)[Symbol.asyncIterator]()
    const written = [...(await append(store, freshStream('account'), 'no-stream', [enabled()]))]
    const first = await subscription.next()
    const quick = eventsUntilMarker(store, start, ['account', 'engagement'], marker)
    for (let streams = 0; streams < 22; streams += 1) {
      written.push(...(await append(store, freshStream('engagement'), 'no-stream', many(200))))
    }
    written.push(...(await append(store, marker, 'no-stream', [enabled()])))
    const seen: Array<Event> = first.done === true ? [] : [...first.value.events]
    while (!seen.some(({ stream }) => stream === marker)) {
      const next = await subscription.next()
      if (next.done === true) break
      seen.push(...next.value.events)
    }
    stopping.abort()
    t.deepEqual(idsOf(seen), idsOf(written))
    t.deepEqual(idsOf(await quick), idsOf(written))
    t.true((await subscription.next()).done === true)
  })

  behaviour(
    'a subscription ends when it is aborted, before it begins, in its history and live',
    async (t, { store }) => {
      const start = rightOf(await store.head())
      await Promise.all(Array.from({ length: 10 }, () => append(store, freshStream('account'), 'no-stream', many(200))))
      t.deepEqual(await collect(store.subscribe(start, ['account'], AbortSignal.abort())), [])

      const inHistory = new AbortController()
      let batches = 0
      for await (const { events } of store.subscribe(start, ['account'], inHistory.signal)) {
        if (events.length > 0) batches += 1
        inHistory.abort()
      }
      t.is(batches, 1)

      const live = new AbortController()
      const waiting = collect(store.subscribe(rightOf(await store.head()), ['account'], live.signal))
      await nextTurn()
      live.abort()
      t.deepEqual(
        (await waiting).flatMap(({ events }) => events),
        [],
      )
    },
  )

  behaviour('a history that is aborted throws: a part of it never passes for the whole', async (t, { store }) => {
    const start = rightOf(await store.head())
    await Promise.all(Array.from({ length: 10 }, () => append(store, freshStream('account'), 'no-stream', many(200))))
    const stopping = new AbortController()
    let batches = 0
    await t.throwsAsync(
      async () => {
        for await (const { events } of store.history(start, ['account', 'contact'], stopping.signal)) {
          if (events.length > 0) batches += 1
          stopping.abort()
        }
      },
      { any: true },
    )
    t.is(batches, 1)
    await t.throwsAsync(collect(store.history(start, ['account'], AbortSignal.abort())), { any: true })
  })

  behaviour('a subscription ends when its consumer leaves it', async (t, { store }) => {
    const start = rightOf(await store.head())
    await append(store, freshStream('account'), 'no-stream', [enabled()])
    let seen = 0
    for await (const { events } of store.subscribe(start, ['account'], new AbortController().signal)) {
      seen += events.length
      if (seen > 0) break
    }
    t.is(seen, 1)
  })

  behaviour('how far a follower has come is saved, never goes back, and outlives the store', async (t, opened) => {
    const { store } = opened
    const [follower, other] = [randomUUID(), randomUUID()]
    const saved = async (from: EventStore): Promise<Position> => rightOf(await from.checkpoint(follower))
    t.is(await saved(store), beginning)
    for (const [position, expected] of [
      [7n, 7n],
      [9n, 9n],
      [8n, 9n],
      [9n, 9n],
    ] as const) {
      rightOf(await store.saveCheckpoint(follower, positionOf(position)))
      t.is(await saved(store), positionOf(expected))
    }
    t.is(rightOf(await store.checkpoint(other)), beginning)
    await Promise.all(
      [11n, 13n, 12n].map((position) => store.saveCheckpoint(follower, positionOf(position)).then(rightOf)),
    )
    t.is(await saved(await opened.reopen()), positionOf(13n))
  })

  behaviour('what is saved of a follower is no event of the log', async (t, { store }) => {
    const start = rightOf(await store.head())
    rightOf(await store.saveCheckpoint(randomUUID(), positionOf(start + 1n)))
    t.deepEqual(
      (await collect(store.history(start, categories, neverAborted))).flatMap(({ events }) => events),
      [],
    )
    const marker = freshStream('account')
    await append(store, marker, 'no-stream', [enabled()])
    const seen = await eventsUntilMarker(store, start, categories, marker)
    t.deepEqual([...new Set(seen.map(({ stream }) => stream))], [marker])
  })

  behaviour(
    'a live subscription comes to the head, though only what is saved of a follower stands there',
    async (t, { store }) => {
      const start = rightOf(await store.head())
      const marker = freshStream('account')
      await append(store, marker, 'no-stream', [enabled()])
      const following = new AbortController()
      let saved: Position | undefined
      for await (const batch of store.subscribe(start, ['account'], following.signal)) {
        if (saved !== undefined && batch.position >= saved) following.abort()
        if (!batch.events.some(({ stream }) => stream === marker)) continue
        rightOf(await store.saveCheckpoint(randomUUID(), batch.position))
        saved = rightOf(await store.head())
        if (batch.position >= saved) following.abort()
      }
      t.true(saved !== undefined)
    },
  )
}
