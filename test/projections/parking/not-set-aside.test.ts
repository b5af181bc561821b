import test from 'ava'
import { later } from '../../../domain/instant.js'
import { findNotSetAside, forgetSkipped } from '../../../projections/parking/not-set-aside.js'
import type { Documents, Query } from '../../../projections/ports.js'
import { at, positionAt } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

const collection = {
  name: 'tasks',
  version: 1,
  generation: 'live',
  indexes: { due: ['queue', 'next_at'] },
} as const

const keyOf = (n: number): string => `task_${String(n).padStart(6, '0')}`

/** Tasks in the order of their numbers, and what finding them costs. */
const openTasks = async (count: number) => {
  const documents = memoryDocuments(documentState())
  const clock = manualClock()
  rightOf(await documents.prepare(collection))
  const put = async (numbers: ReadonlyArray<number>, next = (n: number) => at(n)): Promise<void> => {
    const position = positionAt(count + 1)
    const changes = numbers.map((n) => ({ key: keyOf(n), document: { queue: 'one', next_at: next(n) }, position }))
    rightOf(await documents.apply(collection, changes, position))
  }
  await put(Array.from({ length: count }, (_, n) => n))
  let read = 0
  let named = 0
  let whenRead = (): unknown => undefined
  const find: Documents['find'] = async (...[of, query]) => {
    const found = await documents.find(of, query)
    whenRead()
    read += rightOf(found).length
    named = Math.max(named, query.except?.length ?? 0)
    return found
  }
  return {
    clock,
    put,
    whenRead: (work: () => unknown): void => void (whenRead = work),
    look: async (setAside: ReadonlyMap<string, unknown>, part: Partial<Query> = {}) => {
      read = 0
      named = 0
      const query = { index: 'due', equals: ['one'], limit: 8, ...part }
      const found = await findNotSetAside({ documents: { find }, clock }, collection, query, setAside)
      return { found: found.map(({ key }) => key), read, named }
    },
  }
}

const asideFrom = (from: number, end: number): Map<string, unknown> =>
  new Map(Array.from({ length: end - from }, (_, n) => [keyOf(from + n), true]))

const mostRead = 2_000

test('few that are set aside are named in the query, and not read', async (t) => {
  const { look } = await openTasks(1_100)
  t.deepEqual(await look(asideFrom(0, 1_000), { limit: 2 }), {
    found: [keyOf(1_000), keyOf(1_001)],
    read: 2,
    named: 1_000,
  })
})

test('what is set aside while it is found is left out, and others come in its place', async (t) => {
  const { look, whenRead } = await openTasks(10)
  const setAside = asideFrom(0, 1)
  whenRead(() => setAside.set(keyOf(2), true))
  t.deepEqual((await look(setAside, { limit: 3 })).found, [1, 3, 4].map(keyOf))
})

test('what is due behind, before and among many that are set aside is found, and they are not read at each look', async (t) => {
  const count = 20_000
  const { look } = await openTasks(count)
  const setAside = asideFrom(0, count)
  const free = [3, 9_999, count - 1].map(keyOf)
  for (const key of free) setAside.delete(key)
  t.deepEqual((await look(setAside)).found, free)
  for (const part of [{}, { from: at(2) }, { upTo: at(count) }]) {
    const { found, read, named } = await look(setAside, part)
    t.deepEqual(found, free)
    t.true(read <= 2 * mostRead, `${read}`)
    t.is(named, 0)
  }
  setAside.set(keyOf(3), true)
  const next = await look(setAside)
  t.deepEqual(next.found, free.slice(1))
  t.true(next.read <= 2 * mostRead, `${next.read}`)
})

test('the same page by page', async (t) => {
  const count = 10_000
  const { look } = await openTasks(count)
  const setAside = asideFrom(0, count)
  const free = [0, 4_000, 4_001, 9_999].map(keyOf)
  for (const key of free) setAside.delete(key)
  const first = await look(setAside, { limit: 2 })
  t.deepEqual(first.found, free.slice(0, 2))
  const after = { value: at(4_000), key: keyOf(4_000) }
  t.deepEqual((await look(setAside, { limit: 2, after })).found, free.slice(2))
  t.deepEqual((await look(setAside, { limit: 3, descending: true })).found, free.slice(3))
})

test('what becomes due in a skipped stretch is found within a minute, and at once what somebody asked to be tried again', async (t) => {
  const count = 10_000
  const { look, put, clock } = await openTasks(count)
  const setAside = asideFrom(0, count)
  t.deepEqual((await look(setAside)).found, [])
  t.true((await look(setAside)).read <= mostRead)
  await put([count + 5], () => at(5_000))
  clock.set(later(clock.now(), 60_000))
  t.deepEqual((await look(setAside)).found, [keyOf(count + 5)])
  setAside.set('another', true)
  setAside.delete(keyOf(7_000))
  forgetSkipped(setAside)
  t.deepEqual((await look(setAside)).found, [keyOf(count + 5), keyOf(7_000)])
})
