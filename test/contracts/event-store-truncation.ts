import { beginning, type Position } from '../../domain/event.js'
import { rightOf } from '../kit/right-of.js'
import type { Behaviour } from './behaviour.js'
import {
  append,
  disabled,
  enabled,
  eventsUntilMarker,
  freshStream,
  historyOf,
  idsOf,
  many,
  type OpenStore,
} from './event-store-fixtures.js'

/** What is left of a stream that was truncated. */
export const eventStoreTruncation = (behaviour: Behaviour<OpenStore>): void => {
  behaviour('of a truncated stream nobody is given what stood before the revision', async (t, { store }) => {
    const start = rightOf(await store.head())
    const [stream, other] = [freshStream('account'), freshStream('account')]
    const written = await append(store, stream, 'no-stream', many(5))
    const untouched = await append(store, other, 'no-stream', many(2))
    rightOf(await store.truncate(stream, 3))
    const left = written.slice(3)
    t.deepEqual(rightOf(await store.read(stream)), { events: left, revision: 4 })
    t.deepEqual(rightOf(await store.read(stream, 1, 1)).events, left.slice(0, 1))
    t.deepEqual(rightOf(await store.readLast(stream, 10)), left)
    t.deepEqual(idsOf(await historyOf(store, start, ['account'], [stream, other])), idsOf([...left, ...untouched]))
    const marker = freshStream('engagement')
    await append(store, marker, 'no-stream', [enabled()])
    const given = await eventsUntilMarker(store, start, ['account', 'engagement'], marker)
    t.deepEqual(idsOf(given.filter((event) => event.stream === stream)), idsOf(left))
  })

  behaviour('what was truncated stays away when the store is opened again', async (t, { store, reopen }) => {
    const start = rightOf(await store.head())
    const stream = freshStream('account')
    const written = await append(store, stream, 'no-stream', many(3))
    rightOf(await store.truncate(stream, 2))
    const reopened = await reopen()
    t.deepEqual(rightOf(await reopened.read(stream)).events, written.slice(2))
    t.deepEqual(await historyOf(reopened, start, ['account'], [stream]), written.slice(2))
  })

  behaviour('a truncated stream goes on after its last event', async (t, { store }) => {
    const stream = freshStream('account')
    const [, , last] = await append(store, stream, 'no-stream', many(3))
    rightOf(await store.truncate(stream, 2))
    t.deepEqual(await store.append(stream, 'no-stream', [enabled()]), { _tag: 'Left', left: { kind: 'conflict' } })
    const [next] = await append(store, stream, 2, [disabled()])
    t.is(next?.revision, 3)
    t.deepEqual(rightOf(await store.read(stream)).events, [last, next])
  })

  behaviour('a truncation that is repeated changes nothing, and one further on takes more', async (t, { store }) => {
    const stream = freshStream('account')
    const written = await append(store, stream, 'no-stream', many(4))
    for (const before of [2, 2, 1, 0]) {
      rightOf(await store.truncate(stream, before))
      t.deepEqual(rightOf(await store.read(stream)).events, written.slice(2))
    }
    rightOf(await store.truncate(stream, 3))
    t.deepEqual(rightOf(await store.read(stream)).events, written.slice(3))
  })

  behaviour('nothing is truncated before a revision at which no event stands', async (t, { store }) => {
    const stream = freshStream('account')
    const written = await append(store, stream, 'no-stream', many(2))
    rightOf(await store.truncate(stream, 2))
    rightOf(await store.truncate(stream, 9))
    t.deepEqual(rightOf(await store.read(stream)).events, written)
    rightOf(await store.truncate(freshStream('account'), 0))
  })

  behaviour(
    'what is asked to be truncated before no event is given to a subscriber as before',
    async (t, { store }) => {
      // With its first subscription a store begins to follow the log.
      const first = freshStream('engagement')
      await append(store, first, 'no-stream', [enabled()])
      await eventsUntilMarker(store, beginning, ['engagement'], first)
      const start = rightOf(await store.head())
      const stream = freshStream('account')
      const written = await append(store, stream, 'no-stream', many(2))
      const marker = freshStream('engagement')
      await append(store, marker, 'no-stream', [enabled()])
      await eventsUntilMarker(store, start, ['engagement'], marker)
      rightOf(await store.truncate(stream, 9))
      const given = await eventsUntilMarker(store, start, ['account', 'engagement'], marker)
      t.deepEqual(idsOf(given.filter((event) => event.stream === stream)), idsOf(written))
    },
  )

  behaviour('events that were truncated are not written again when their append is repeated', async (t, { store }) => {
    const stream = freshStream('account')
    const batch = many(3)
    const written = await append(store, stream, 'no-stream', batch)
    rightOf(await store.truncate(stream, 2))
    await store.append(stream, 'no-stream', batch)
    t.deepEqual(rightOf(await store.read(stream)), { events: written.slice(2), revision: 2 })
    const [, , last] = batch
    if (last !== undefined) t.is(rightOf(await store.append(stream, 1, [last])).revision, 2)
    t.deepEqual(rightOf(await store.read(stream)), { events: written.slice(2), revision: 2 })
  })

  behaviour('a live subscription comes to the head, though only a truncation stands there', async (t, { store }) => {
    const start = rightOf(await store.head())
    const stream = freshStream('account')
    await append(store, stream, 'no-stream', many(2))
    const following = new AbortController()
    let head: Position | undefined
    for await (const batch of store.subscribe(start, ['account'], following.signal)) {
      if (head === undefined && batch.events.some((event) => event.stream === stream)) {
        rightOf(await store.truncate(stream, 1))
        head = rightOf(await store.head())
      }
      if (head !== undefined && batch.position >= head) following.abort()
    }
    t.true(head !== undefined)
  })
}
