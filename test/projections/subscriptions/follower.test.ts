import test from 'ava'
import { setMaxListeners } from 'node:events'
import { neverAborted } from '../../../domain/abortable.js'
import type { NewEvent } from '../../../domain/ports.js'
import { beginning } from '../../../domain/event.js'
import { follow, type FollowPorts } from '../../../projections/subscriptions/follower.js'
import { anyProjection, collectionOf, type Projection } from '../../../projections/projection.js'
import { buildAlone } from '../../../projections/subscriptions/rebuild.js'
import { runProjection } from '../../../projections/subscriptions/runner.js'
import { rightOf } from '../../kit/right-of.js'
import { nextTurn, turnTime, settled } from '../../kit/time/turns.js'
import { accountId, conversionId, positionAt } from '../../kit/domain/samples.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'
import { reachable } from '../../kit/parts/reachable.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'

const openPorts = async () => {
  const { store, documents, close } = await openSqliteStores()
  const logger = recordingLogger()
  const ports: FollowPorts = { store, logger, backoff: nextTurn }
  return { store, documents, ports, lines: logger.lines, close }
}

const defined = (n: number, title: string): NewEvent =>
  newEvent(n, {
    type: 'ConversionDefined',
    data: { conversion_id: conversionId(n), account_id: accountId(), title, value: 0, label: 'custom_conversion' },
  })

type Titles = { readonly title: string }

/** Chokes on one title. */
const picky = (name: string, chokesOn: string): Projection<Titles> => ({
  name,
  version: 1,
  categories: ['conversion'],
  indexes: {},
  createdBy: new Set(['ConversionDefined']),
  keyOf: (event) => (event.type === 'ConversionDefined' ? event.data.conversion_id : undefined),
  evolve: (document, event) => {
    if (event.type !== 'ConversionDefined') return document
    if (event.data.title === chokesOn) throw new RangeError(`can not take ${event.data.title}`)
    return { title: event.data.title }
  },
})

test('an event that can not be folded stops its projection loudly, and no other', async (t) => {
  const { store, documents, ports, lines, close } = await openPorts()
  const run = (projection: Projection<Titles>) =>
    runProjection(anyProjection(projection), {
      ...ports,
      monotonic: turnTime,
      documents,
      build: buildAlone,
      isWaitedFor: false,
    })
  const stopping = run(picky('picky', 'the secret one'))
  const going = run(picky('easy', 'nothing'))
  for (const [n, title] of ['first', 'the secret one', 'last'].entries()) {
    rightOf(await store.append(`conversion-${conversionId(n + 1)}`, 'no-stream', [defined(n + 1, title)]))
  }
  const head = rightOf(await store.head())
  await Promise.all([stopping.caughtUpTo(head, neverAborted), going.caughtUpTo(head, neverAborted)])

  t.is(going.failure(), undefined)
  t.is(going.position(), head)
  t.is(rightOf(await documents.count(collectionOf(anyProjection(picky('easy', ''))))), 3)
  t.regex(stopping.failure() ?? '', /^picky can't fold ConversionDefined at position 2: an exception \(RangeError/)
  t.true((stopping.position() ?? head) < head)
  const told = lines.filter(({ message }) => message === 'a follower of the log stopped')
  t.deepEqual(
    told.map(({ fields }) => fields['follower']),
    ['picky'],
  )
  t.false(JSON.stringify(lines).includes('the secret one'))
  await Promise.all([stopping.stop(), going.stop()])
  await close()
})

test('a failure that passes is tried again from the last batch that was handled', async (t) => {
  const { store, ports, close } = await openPorts()
  for (let n = 1; n <= 3; n += 1) {
    rightOf(await store.append(`conversion-${conversionId(n)}`, 'no-stream', [defined(n, 'any')]))
  }
  const handled: Array<bigint> = []
  let failures = 2
  let saved = beginning
  const following = follow(
    {
      name: 'shaky',
      categories: ['conversion'],
      begin: () => Promise.resolve(saved),
      handle: ({ events, position }) => {
        if (failures > 0) {
          failures -= 1
          return Promise.reject(new Error('the store was away'))
        }
        handled.push(...events.map((event) => event.position))
        saved = position
        return Promise.resolve()
      },
    },
    ports,
  )
  await following.caughtUpTo(positionAt(3), neverAborted)
  t.is(failures, 0)
  t.deepEqual(handled, [1n, 2n, 3n])
  t.is(following.failure(), undefined)
  await following.stop()
  await close()
})

test('a follower that was stopped handles nothing more', async (t) => {
  const { store, ports, close } = await openPorts()
  const handled: Array<bigint> = []
  const following = follow(
    {
      name: 'brief',
      categories: ['conversion'],
      begin: () => Promise.resolve(beginning),
      handle: ({ events }) => {
        handled.push(...events.map((event) => event.position))
        return Promise.resolve()
      },
    },
    ports,
  )
  rightOf(await store.append(`conversion-${conversionId(1)}`, 'no-stream', [defined(1, 'any')]))
  await following.caughtUpTo(positionAt(1), neverAborted)
  await following.stop()
  rightOf(await store.append(`conversion-${conversionId(2)}`, 'no-stream', [defined(2, 'any')]))
  await settled()
  t.deepEqual(handled, [1n])
  await close()
})

test('whoever gives up waiting for a follower that stands still leaves nothing behind', async (t) => {
  const { ports, close } = await openPorts()
  const following = follow(
    {
      name: 'still',
      categories: ['conversion'],
      begin: () => new Promise(() => undefined),
      handle: () => Promise.resolve(),
    },
    ports,
  )
  const { watch, count } = reachable()
  let resolved = 0
  const waitInVain = async (waiters: number): Promise<void> => {
    const givingUp = new AbortController()
    setMaxListeners(0, givingUp.signal)
    for (let n = 0; n < waiters; n += 1) {
      const waiting = following.caughtUpTo(positionAt(1), givingUp.signal)
      watch(waiting)
      void waiting.then(() => (resolved += 1))
    }
    t.is(await count(), waiters)
    givingUp.abort()
    await nextTurn()
  }
  await waitInVain(1_000)
  t.is(resolved, 1_000)
  t.is(await count(), 0)
  await close()
})

test('a follower whose store is away for days tells of it less and less often', async (t) => {
  const { store, ports, lines, close } = await openPorts()
  let tries = 0
  const follower = {
    name: 'waiting',
    categories: ['conversion'],
    begin: () => {
      tries += 1
      return Promise.reject(new Error('the documents are away'))
    },
    handle: () => Promise.resolve(),
  } as const
  const following = follow(follower, { ...ports, store })
  // Turn by turn: in a pause it would try more often than that.
  while (tries <= 1_000) await nextTurn()
  await following.stop()
  t.deepEqual(
    lines.map(({ message }) => message),
    Array.from({ length: 10 }, () => 'a follower of the log tries again'),
    'after 1, 2, 4, … 512 tries',
  )
  await close()
})
