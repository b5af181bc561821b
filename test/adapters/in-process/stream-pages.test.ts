import test from 'ava'
import { readByPages, readLastByPages } from '../../../adapters/in-process/stream-pages.js'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import { E } from '../../../domain/prelude.js'
import { logOf } from '../../kit/domain/log.js'
import { accountId } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'

const stream = `account-${accountId()}`

/** A stream of events of so many characters each, and the calls that reading it took. */
const streamOf = (count: number, characters: number) => {
  const event: DomainEvent = {
    type: 'MemberAdded',
    data: { member_id: 'mbr_1', email: 'x'.repeat(characters), role: 'agent' } as never,
  }
  const all = logOf(...Array.from({ length: count }, () => [stream, event] as const))
  const calls: Array<number> = []
  const answered = (events: ReadonlyArray<RecordedEvent>) => {
    calls.push(events.length)
    return Promise.resolve(E.right(events))
  }
  return {
    calls,
    read: readByPages((_, from, limit) => answered(all.slice(from, from + limit))),
    readLast: readLastByPages((_, from, limit) => {
      const end = from === 'end' ? all.length : from + 1
      return answered(all.slice(Math.max(0, end - limit), end).toReversed())
    }),
  }
}

const revisions = (events: ReadonlyArray<{ readonly revision: number }>): ReadonlyArray<number> =>
  events.map(({ revision }) => revision)

const upTo = (count: number, first = 0): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => first + index)

test('a stream of small events is read in large pages, from either end', async (t) => {
  const small = streamOf(1_200, 100)
  t.deepEqual(revisions(rightOf(await small.read(stream)).events), upTo(1_200))
  t.deepEqual(small.calls, [25, 500, 500, 175])
  t.deepEqual(revisions(rightOf(await small.readLast(stream, 100))), upTo(100, 1_100))
  t.deepEqual(small.calls.slice(4), [25, 75])
})

test('however large the events of a stream are, no call brings more than some megabytes of them', async (t) => {
  const large = streamOf(120, 100_000)
  t.deepEqual(revisions(rightOf(await large.read(stream)).events), upTo(120))
  t.deepEqual(revisions(rightOf(await large.readLast(stream, 1_000))), upTo(120))
  t.true(
    Math.max(...large.calls) === 25 && large.calls.filter((events) => events > 9).length === 2,
    String(large.calls),
  )
})

test('a short stream is read in one call, and an empty one too', async (t) => {
  const short = streamOf(7, 100)
  t.is(rightOf(await short.read(stream)).revision, 6)
  t.is(rightOf(await short.readLast(stream, 100)).length, 7)
  t.deepEqual(short.calls, [7, 7])
  const empty = streamOf(0, 1)
  t.is(rightOf(await empty.read(stream)).revision, 'no-stream')
  t.deepEqual(rightOf(await empty.readLast(stream, 1)), [])
  t.deepEqual(empty.calls, [0, 0])
})
