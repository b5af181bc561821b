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

  behaviour('a truncated stream goes on behind its last event', async (t, { store }) => {
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
}
