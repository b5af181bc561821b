import test, { type ExecutionContext } from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import type { DomainEvent } from '../../../domain/events.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Backoff } from '../../../projections/subscriptions/retries/backoff.js'
import { guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import type { RunningFollower } from '../../../projections/subscriptions/follower.js'
import type { Documents } from '../../../projections/ports.js'
import { anyProjection, collectionOf, type AnyProjection, type Projection } from '../../../projections/projection.js'
import { buildAlone } from '../../../projections/subscriptions/rebuild.js'
import { runProjection } from '../../../projections/subscriptions/runner.js'
import { testLease } from '../../kit/parts/lease.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { rightOf } from '../../kit/right-of.js'
import { accountId, conversionId } from '../../kit/domain/samples.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'
import { sleep, until } from '../../kit/time/until.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'

type Titles = { readonly title: string }

/** The conversions by their titles; those that are called nothing are none of its business. */
const titles: Projection<Titles> = {
  name: 'titles',
  version: 1,
  categories: ['conversion'],
  indexes: {},
  createdBy: new Set(),
  keyOf: (event) =>
    event.type === 'ConversionDefined' && event.data.title !== '' ? event.data.conversion_id : undefined,
  evolve: (document, event) => (event.type === 'ConversionDefined' ? { title: event.data.title } : document),
}

const projection = anyProjection(titles)
const live = collectionOf(projection)

const defined = (n: number, title: string): DomainEvent => ({
  type: 'ConversionDefined',
  data: { conversion_id: conversionId(n), account_id: accountId(), title, value: 0, label: 'custom_conversion' },
})

const open = async (t: ExecutionContext) => {
  const { store, documents, close } = await openSqliteStores()
  const running = new Set<RunningFollower>()
  t.teardown(async () => {
    await Promise.all([...running].map(({ stop }) => stop()))
    await close()
  })
  let n = 0
  return {
    store,
    documents,
    /** Gives the position. */
    define: async (title: string): Promise<Position> => {
      n += 1
      const event = newEvent(n, defined(n, title))
      return rightOf(await store.append(`conversion-${conversionId(n)}`, 'no-stream', [event])).position
    },
    run: (
      one: AnyProjection = projection,
      changed: {
        documents?: Documents
        isWaitedFor?: boolean
        backoff?: Backoff
        monotonic?: Pick<MonotonicClock, 'sleep'>
      } = {},
    ) => {
      const following = runProjection(one, {
        store,
        documents,
        logger: recordingLogger(),
        backoff: nextTurn,
        monotonic: turnTime,
        build: buildAlone,
        isWaitedFor: false,
        ...changed,
      })
      running.add(following)
      return {
        ...following,
        stop: () => {
          running.delete(following)
          return following.stop()
        },
      }
    },
    checkpoint: async () => rightOf(await documents.confirmedCheckpoint(live)),
    count: async (one: AnyProjection = projection) => rightOf(await documents.count(collectionOf(one))),
  }
}

test('a read model that is not there is built before it is followed', async (t) => {
  const { documents, store, define, run, count, checkpoint } = await open(t)
  for (let n = 0; n < 5; n += 1) await define('old')
  const head = rightOf(await store.head())
  let seen: Position | undefined
  const watched: Documents = {
    ...documents,
    // Whoever asks before it is whole finds nothing.
    apply: async (collection, changes, position) => {
      if (collection.generation === 'next') t.false(rightOf(await documents.exists(live)))
      else seen ??= position
      return documents.apply(collection, changes, position)
    },
  }
  const { caughtUpTo } = run(projection, { documents: watched })
  await caughtUpTo(head, neverAborted)
  t.is(await count(), 5)
  t.is(await checkpoint(), head)
  t.is(seen, undefined, 'what was built was not folded once more')
  const last = await define('new')
  await caughtUpTo(last, neverAborted)
  t.is(await count(), 6)
  t.is(seen, last)
})

test('another version of a read model is built anew beside the old one, and takes its place', async (t) => {
  const { documents, define, run, count } = await open(t)
  const first = run()
  await first.caughtUpTo(await define('old'), neverAborted)
  await first.stop()
  const shouting = anyProjection({
    ...titles,
    version: 2,
    evolve: (_document, event) => ({ title: event.type === 'ConversionDefined' ? event.data.title.toUpperCase() : '' }),
  })
  const { caughtUpTo } = run(shouting)
  await caughtUpTo(await define('new'), neverAborted)
  const found = rightOf(await documents.get(collectionOf(shouting), [conversionId(1), conversionId(2)]))
  t.deepEqual(
    [...found.values()].map(({ document }) => document),
    [{ title: 'OLD' }, { title: 'NEW' }],
  )
  t.is(await count(shouting), 2)
  t.false(rightOf(await documents.exists(live)))
})

test('a read model that is there is followed from its checkpoint, and not built again', async (t) => {
  const { documents, define, run, count } = await open(t)
  const first = run()
  await first.caughtUpTo(await define('one'), neverAborted)
  await first.stop()
  const last = await define('two')
  const written: Array<string> = []
  const watched: Documents = {
    ...documents,
    apply: (collection, changes, position) => {
      written.push(`${collection.generation} ${changes.length}`)
      return documents.apply(collection, changes, position)
    },
  }
  const second = run(projection, { documents: watched })
  await second.caughtUpTo(last, neverAborted)
  await second.stop()
  t.deepEqual(written, ['live 1'])
  t.is(await count(), 2)
})

test('where others wait for the checkpoint, each batch of its categories moves it', async (t) => {
  const { define, run, checkpoint } = await open(t)
  const { caughtUpTo } = run(projection, { isWaitedFor: true })
  for (const title of ['one', '', '']) {
    const last = await define(title)
    await caughtUpTo(last, neverAborted)
    t.is(await checkpoint(), last)
  }
})

test('where nobody waits for it, what changes nothing moves it once in a hundred batches', async (t) => {
  const { define, run, checkpoint } = await open(t)
  const { caughtUpTo } = run()
  const changed = await define('one')
  await caughtUpTo(changed, neverAborted)
  for (let batch = 1; batch < 100; batch += 1) await caughtUpTo(await define(''), neverAborted)
  t.is(await checkpoint(), changed)
  const hundredth = await define('')
  await caughtUpTo(hundredth, neverAborted)
  t.is(await checkpoint(), hundredth)
})

/** Whatever stops here goes on once it is let. */
const gate = () => {
  const stopped: Array<() => void> = []
  let isOpen = false
  return {
    stopped,
    pass: (): Promise<void> => (isOpen ? Promise.resolve() : new Promise((resolve) => stopped.push(resolve))),
    open: (): void => {
      isOpen = true
      for (const release of stopped.splice(0)) release()
    },
  }
}

test('a batch without events of its categories moves the checkpoint after a pause, for those who look at it', async (t) => {
  const { store, define, run, checkpoint } = await open(t)
  const pauses = gate()
  t.teardown(pauses.open)
  const { caughtUpTo } = run(projection, { isWaitedFor: true, backoff: pauses.pass, monotonic: { sleep: pauses.pass } })
  const changed = await define('one')
  await caughtUpTo(changed, neverAborted)
  const other = rightOf(await store.append('account-1', 'no-stream', [newEvent(99)]))
  await caughtUpTo(other.position, neverAborted)
  t.is(await checkpoint(), changed)
  pauses.open()
  await until('the checkpoint has moved', 60_000, async () => (await checkpoint()) === other.position)
})

/** A read model that has an idle batch to save, and its next write held: `release` lets it end well, or badly. */
const holdWrite = async (t: ExecutionContext, end: 'well' | 'badly') => {
  const { documents, store, define, run, count, checkpoint } = await open(t)
  const pauses = gate()
  const writes = gate()
  const underWay = { now: 0, most: 0 }
  let isHeld = false
  const watched: Documents = {
    ...documents,
    apply: async (collection, changes, position) => {
      underWay.now += 1
      underWay.most = Math.max(underWay.most, underWay.now)
      const fails = isHeld && end === 'badly'
      if (isHeld && changes.length > 0) await writes.pass()
      const done = fails
        ? E.left({ kind: 'unavailable', reason: 'away' } as const)
        : await documents.apply(collection, changes, position)
      underWay.now -= 1
      return done
    },
  }
  const release = (): void => {
    isHeld = false
    writes.open()
  }
  t.teardown(() => {
    release()
    pauses.open()
  })
  const { caughtUpTo } = run(projection, {
    documents: watched,
    isWaitedFor: true,
    backoff: pauses.pass,
    monotonic: { sleep: pauses.pass },
  })
  await caughtUpTo(await define('zero'), neverAborted)
  const idle = rightOf(await store.append('account-1', 'no-stream', [newEvent(99)])).position
  await caughtUpTo(idle, neverAborted)
  isHeld = true
  const changed = await define('one')
  await until('it is being written', 60_000, () => writes.stopped.length > 0)
  return { pauses, idle, changed, underWay, caughtUpTo, release, count, checkpoint }
}

test('while a write is in flight no checkpoint is written beside it', async (t) => {
  const { pauses, idle, changed, underWay, caughtUpTo, release, count, checkpoint } = await holdWrite(t, 'well')
  pauses.open()
  await sleep(50)
  t.true((await checkpoint()) <= idle)
  release()
  await caughtUpTo(changed, neverAborted)
  t.is(underWay.most, 1)
  t.is(await checkpoint(), changed)
  t.is(await count(), 2)
})

test('after a write that failed no checkpoint moves beyond it', async (t) => {
  const { pauses, idle, changed, caughtUpTo, release, count, checkpoint } = await holdWrite(t, 'badly')
  release()
  await until('it is about to be tried again', 60_000, () => pauses.stopped.length > 1)
  pauses.stopped[0]?.()
  await until('the checkpoint has moved', 60_000, async () => (await checkpoint()) >= idle)
  t.is(await checkpoint(), idle)
  pauses.open()
  await caughtUpTo(changed, neverAborted)
  t.is(await count(), 2)
})

for (const [which, generation] of [
  ['followed', 'live'],
  ['built', 'next'],
] as const) {
  test(`a read model with a document that its store can't hold stops for good while it is ${which}, and is not written again`, async (t) => {
    const { documents, define, run } = await open(t)
    if (generation === 'live') rightOf(await documents.prepare(live))
    const head = await define('too large')
    let writes = 0
    const small: Documents = {
      ...documents,
      apply: (collection, changes, position) => {
        if (changes.length === 0) return documents.apply(collection, changes, position)
        t.is(collection.generation, generation)
        writes += 1
        return Promise.resolve(E.left({ kind: 'corrupt', reason: 'a document is larger than MongoDB holds' }))
      },
    }
    const { caughtUpTo, failure } = run(projection, { documents: small })
    await caughtUpTo(head, neverAborted)
    t.is(failure(), "titles can't be written: a document is larger than MongoDB holds")
    t.is(writes, 1)
  })
}

test('a read model that is stopped saves how far it has come', async (t) => {
  const { define, run, checkpoint, count } = await open(t)
  const first = run()
  await first.caughtUpTo(await define('one'), neverAborted)
  const last = await define('')
  await first.caughtUpTo(last, neverAborted)
  t.true((await checkpoint()) < last)
  await first.stop()
  t.is(await checkpoint(), last)
  t.is(await count(), 1)
})

test('a read model whose lease was lost is not written any more, not even at its end', async (t) => {
  const { documents, define, run, checkpoint, count } = await open(t)
  const lease = testLease('titles')
  const first = run(projection, { documents: guardedDocuments(documents, lease), isWaitedFor: true })
  const seen = await define('one')
  await first.caughtUpTo(seen, neverAborted)
  lease.expire()
  await define('two')
  await first.stop()
  t.is(await checkpoint(), seen)
  t.is(await count(), 1)

  // Whoever takes over finishes it.
  const second = run()
  await second.caughtUpTo(await define('three'), neverAborted)
  t.is(await count(), 3)
})

/** A read model of two conversions, of which one is wrong in what is served. */
const openSpoilt = async (t: ExecutionContext) => {
  const stage = await open(t)
  const { documents, define, run } = stage
  const first = run()
  await define('one')
  const last = await define('two')
  await first.caughtUpTo(last, neverAborted)
  await first.stop()
  const wrong = { key: conversionId(1), document: { title: 'wrong' }, position: last }
  rightOf(await documents.apply(live, [wrong], last))
  const served = async (): Promise<ReadonlyArray<unknown>> => {
    const titles: Array<unknown> = []
    for await (const { document } of documents.all(live)) titles.push(document?.['title'])
    return titles
  }
  t.deepEqual(await served(), ['wrong', 'two'])
  return { ...stage, served }
}

test('a read model can be built anew while it is served, and misses nothing that comes meanwhile', async (t) => {
  const { documents, define, run, served } = await openSpoilt(t)
  const shown: Array<unknown> = []
  const meanwhile: Array<Position> = []
  const watched: Documents = {
    ...documents,
    apply: async (collection, changes, position) => {
      const applied = await documents.apply(collection, changes, position)
      if (collection.generation === 'next' && meanwhile.length === 0) {
        meanwhile.push(await define('three'))
        await running.caughtUpTo(meanwhile[0] ?? beginning, neverAborted)
        shown.push(...(await served()))
        meanwhile.push(await define('four'))
      }
      return applied
    },
  }
  const running = run(projection, { documents: watched })
  await running.caughtUpTo(await define(''), neverAborted)
  t.is(await running.rebuild(), 4)
  t.deepEqual(shown, ['wrong', 'two', 'three'], 'served as before until it is whole')
  await running.caughtUpTo(meanwhile[1] ?? beginning, neverAborted)
  t.deepEqual(await served(), ['one', 'two', 'three', 'four'])
  await running.caughtUpTo(await define('five'), neverAborted)
  t.deepEqual(await served(), ['one', 'two', 'three', 'four', 'five'])
  await running.rebuild()
  t.deepEqual(await served(), ['one', 'two', 'three', 'four', 'five'])
})

test('a rebuild goes on, and loses nothing, where the read model can not be written for a moment meanwhile', async (t) => {
  const { documents, define, run, served } = await openSpoilt(t)
  let failures = 0
  let isFailing = false
  let isFirst = true
  const watched: Documents = {
    ...documents,
    apply: async (collection, changes, position) => {
      if (collection.generation === 'live' && isFailing) {
        isFailing = false
        failures += 1
        return E.left({ kind: 'unavailable', reason: 'away' })
      }
      const applied = await documents.apply(collection, changes, position)
      if (collection.generation === 'next' && isFirst) {
        isFirst = false
        isFailing = true
        await running.caughtUpTo(await define('three'), neverAborted)
        t.is(rightOf(await documents.confirmedCheckpoint(collection)), position, 'what was built is there')
      }
      return applied
    },
  }
  const running = run(projection, { documents: watched })
  await running.caughtUpTo(await define(''), neverAborted)
  t.is(await running.rebuild(), 3)
  t.is(failures, 1)
  t.deepEqual(await served(), ['one', 'two', 'three'])
})

test('a rebuild that fails leaves what is served as it was, and what it left is dropped, at the latest by the next start', async (t) => {
  const { documents, define, run, served } = await openSpoilt(t)
  const unavailable = { kind: 'unavailable', reason: 'away' } as const
  let refusals = 0
  const away: Documents = {
    ...documents,
    promote: () => {
      refusals = refusalsToCome
      return Promise.resolve(E.left(unavailable))
    },
    drop: (collection) => {
      refusals -= 1
      return refusals >= 0 ? Promise.resolve(E.left(unavailable)) : documents.drop(collection)
    },
  }
  let refusalsToCome = 3
  const running = run(projection, { documents: away })
  await running.caughtUpTo(await define('three'), neverAborted)
  const next = collectionOf(projection, 'next')
  await t.throwsAsync(running.rebuild(), { message: /away/ })
  t.is(refusals, -1, 'it was tried again until it was done')
  t.false(rightOf(await documents.exists(next)))
  refusalsToCome = Infinity
  const ended = running.rebuild()
  await until('it can not be dropped', 60_000, () => refusals === Infinity)
  const last = await define('four')
  await running.caughtUpTo(last, neverAborted)
  t.deepEqual(await served(), ['wrong', 'two', 'three', 'four'])
  await running.stop()
  await t.throwsAsync(ended, { message: /away/ })
  t.true(rightOf(await documents.exists(next)))
  await run().caughtUpTo(last, neverAborted)
  t.false(rightOf(await documents.exists(next)))
  t.deepEqual(await served(), ['wrong', 'two', 'three', 'four'])
})
