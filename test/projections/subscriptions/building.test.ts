import test, { type ExecutionContext } from 'ava'
import { aborted, neverAborted } from '../../../domain/abortable.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { EventStore, NewEvent } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import type { Documents } from '../../../projections/ports.js'
import { anyProjection, collectionOf, type Projection } from '../../../projections/projection.js'
import { buildAlone, buildTogether, rebuild } from '../../../projections/subscriptions/rebuild.js'
import { runProjection } from '../../../projections/subscriptions/runner.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { accountId, conversionId, positionAt } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { watchedHistory } from '../../kit/parts/watched-history.js'
import { rightOf } from '../../kit/right-of.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'
import { nextTurn, settled, turnTime } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

type Title = { readonly title: string }

const titles: Projection<Title> = {
  name: 'titles',
  version: 1,
  categories: ['conversion'],
  indexes: {},
  createdBy: new Set(),
  keyOf: (event) => (event.type === 'ConversionDefined' ? event.data.conversion_id : undefined),
  evolve: (document, event) => (event.type === 'ConversionDefined' ? { title: event.data.title } : document),
}
const projection = anyProjection(titles)
const live = collectionOf(projection)

/** Events in the log: more than two writes of a building. */
const count = 12_000

/** Events that a building folds before it writes. */
const chunk = 5_000

const defined = (n: number): NewEvent =>
  newEvent(n, {
    type: 'ConversionDefined',
    data: {
      conversion_id: conversionId(n),
      account_id: accountId(),
      title: `${n}`,
      value: 0,
      label: 'custom_conversion',
    },
  })

/**
 * A log that no read model was made of. `interrupt` is called before each write of a building; a failure is its answer.
 */
const open = async (t: ExecutionContext, interrupt: (write: number) => 'fail' | undefined) => {
  const { store, documents, close } = await openSqliteStores()
  for (let first = 1; first <= count; first += 1_000) {
    const [one, ...others] = Array.from({ length: 1_000 }, (_, n) => defined(first + n))
    if (one !== undefined)
      rightOf(await store.append(`conversion-${conversionId(first)}`, 'no-stream', [one, ...others]))
  }
  t.teardown(close)
  const history = watchedHistory(store)
  let writes = 0
  let written = 0
  const watched: Documents = {
    ...documents,
    apply: async (collection, changes, position) => {
      if (collection.generation === 'next') {
        writes += 1
        if (interrupt(writes) === 'fail') return E.left({ kind: 'unavailable', reason: 'away' })
        written += changes.length
      }
      return documents.apply(collection, changes, position)
    },
  }
  return {
    ...history,
    documents,
    watched,
    written: () => written,
    head: rightOf(await store.head()),
    run: () =>
      runProjection(projection, {
        store: history.store,
        documents: watched,
        logger: recordingLogger(),
        backoff: nextTurn,
        monotonic: turnTime,
        build: buildAlone,
        isWaitedFor: false,
      }),
  }
}

test('a building that a failing store interrupted goes on from its checkpoint, and writes nothing twice', async (t) => {
  const { run, begun, written, head, documents } = await open(t, (write) => (write === 2 ? 'fail' : undefined))
  const { caughtUpTo, stop } = run()
  await caughtUpTo(head, neverAborted)
  await stop()
  t.deepEqual(begun.slice(0, 2), [0n, BigInt(chunk)])
  t.is(written(), count)
  t.is(rightOf(await documents.count(live)), count)
})

test('a rebuild begins anew, and where a store fails it goes on from where it came to', async (t) => {
  const { store, watched, begun, written, documents } = await open(t, (write) =>
    write === 2 || write === 3 ? 'fail' : undefined,
  )
  const next = collectionOf(projection, 'next')
  rightOf(await documents.prepare(next))
  const leftOver = { key: 'left over', document: { title: 'of an earlier one' }, position: positionAt(1) }
  rightOf(await documents.apply(next, [leftOver], positionAt(count)))
  let failures = 0
  const onDocuments = async <A>(work: (documents: Documents) => Promise<A>): Promise<A> => {
    try {
      return await work(watched)
    } catch (error) {
      if (!(error instanceof StoreFailed)) throw error
      failures += 1
      return onDocuments(work)
    }
  }
  await rebuild([projection], { store, onDocuments }, () => undefined)
  t.is(failures, 2)
  t.deepEqual(begun, [0n, BigInt(chunk), BigInt(chunk)])
  t.is(written(), count)
  t.is(rightOf(await documents.count(next)), count)
  t.false(rightOf(await documents.exists(live)), 'it is served only once it is promoted')
})

test('a building that goes on folds further what it had built before it was interrupted', async (t) => {
  const { store, watched, documents } = await open(t, (write) => (write === 2 ? 'fail' : undefined))
  const counts: Projection<{ readonly count: number }> = {
    ...titles,
    name: 'counts',
    keyOf: (event) => (event.type === 'ConversionDefined' ? event.data.account_id : undefined),
    evolve: (document) => ({ count: (document?.count ?? 0) + 1 }),
  }
  const target = { projection: anyProjection(counts), documents: watched }
  await t.throwsAsync(buildAlone(target, store, neverAborted), { instanceOf: StoreFailed })
  await buildAlone(target, store, neverAborted)
  const built = rightOf(await documents.get(collectionOf(counts, 'next'), [accountId()]))
  t.deepEqual(built.get(accountId())?.document, { count })
})

test('a building ends when it is asked to, and the next start goes on from where it came to', async (t) => {
  let stop = (): void => undefined
  const { run, begun, read, written, head, documents } = await open(t, (write) => {
    if (write === 1) stop()
    return undefined
  })
  const first = run()
  await new Promise<void>((resolve) => (stop = () => void first.stop().then(resolve)))
  t.true(read.events <= chunk + 500, `${read.events} events were read`)
  t.false(rightOf(await documents.exists(live)), 'a part is served')

  const second = run()
  await second.caughtUpTo(head, neverAborted)
  await second.stop()
  t.deepEqual(begun.slice(0, 2), [0n, BigInt(chunk)])
  t.is(written(), count)
  t.is(rightOf(await documents.count(live)), count)
})

test('while a building writes it reads on, by one write at most, and no two writes are under way at once', async (t) => {
  const { store, watched, read, documents } = await open(t, () => undefined)
  const letGo: Array<() => void> = []
  let underWay = 0
  let most = 0
  const held: Documents = {
    ...watched,
    apply: async (...change) => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise<void>((resolve) => letGo.push(resolve))
      const applied = await watched.apply(...change)
      underWay -= 1
      return applied
    },
  }
  const building = buildAlone({ projection, documents: held }, store, neverAborted)
  await until('the next write is read', 60_000, () => read.events === 2 * chunk)
  await settled()
  t.deepEqual([letGo.length, read.events], [1, 2 * chunk])
  for (let write = 1; write <= 3; write += 1) {
    await until('something is written', 60_000, () => letGo.length > 0)
    letGo.shift()?.()
  }
  await building
  t.is(most, 1)
  t.is(rightOf(await documents.count(collectionOf(projection, 'next'))), count)
})

test('a building that is told to stop while it writes begins no other write', async (t) => {
  const { store, watched, read, written } = await open(t, () => undefined)
  let letGo = (): void => undefined
  const held: Documents = {
    ...watched,
    apply: async (...change) => {
      if (written() === 0) await new Promise<void>((resolve) => (letGo = resolve))
      return watched.apply(...change)
    },
  }
  const stopping = new AbortController()
  const building = buildAlone({ projection, documents: held }, store, stopping.signal)
  await until('the next write is read', 60_000, () => read.events === 2 * chunk)
  const stopped = new Error('stopped')
  stopping.abort(stopped)
  letGo()
  await t.throwsAsync(building, { is: stopped })
  t.is(written(), chunk)
})

test('a building saves how far it has come, however few events there are', async (t) => {
  const { store, documents, close } = await openSqliteStores()
  t.teardown(close)
  const begun: Array<bigint> = []
  async function* history(...[after]: Parameters<EventStore['history']>): ReturnType<EventStore['history']> {
    begun.push(after)
    for (let at = Number(after) + 1; at <= 250; at += 1) {
      if (begun.length === 1 && at === 150) throw new Error('the store was away')
      yield await Promise.resolve({ events: [], position: positionAt(at) })
    }
  }
  const rare = { ...store, history }
  const ports = {
    logger: recordingLogger(),
    backoff: nextTurn,
    monotonic: turnTime,
    build: buildAlone,
    isWaitedFor: false,
  }
  const { caughtUpTo, stop } = runProjection(projection, { ...ports, store: rare, documents })
  await caughtUpTo(positionAt(250), neverAborted)
  await stop()
  t.deepEqual(begun, [0n, 100n])
})

test('of large events a building folds fewer before it writes, by their bytes', async (t) => {
  const { documents, close } = await openSqliteStores()
  t.teardown(close)
  const large = 60
  const title = 'x'.repeat(1_000_000)
  async function* history(): ReturnType<EventStore['history']> {
    for (let n = 1; n <= large; n += 1) {
      const { data } = defined(n)
      const event = { ...defined(n), data: { ...data, title }, position: positionAt(n) }
      yield await Promise.resolve({ events: [event as unknown as RecordedEvent], position: positionAt(n) })
    }
  }
  const written: Array<number> = []
  const counted: Documents = {
    ...documents,
    apply: (collection, changes, position) => {
      written.push(changes.length)
      return documents.apply(collection, [], position)
    },
  }
  await buildAlone({ projection, documents: counted }, { history }, neverAborted)
  t.is(
    written.reduce((sum, count) => sum + count, 0),
    large,
  )
  t.true(Math.max(...written) <= 20, written.join())
})

/** A small log, and the read models of these projections, which are all missing and followed at the same time. */
const openMissing = async (t: ExecutionContext, ...projections: ReadonlyArray<Projection<Title>>) => {
  const store = memoryEventStore(memoryLog())
  for (let n = 1; n <= 3; n += 1) rightOf(await store.append(`conversion-${n}`, 'no-stream', [defined(n)]))
  const documents = memoryDocuments(documentState())
  const history = watchedHistory(store)
  const ports = { store: history.store, documents, logger: recordingLogger(), backoff: nextTurn, monotonic: turnTime }
  const build = buildTogether(turnTime)
  const running = projections.map((one) => runProjection(anyProjection(one), { ...ports, build, isWaitedFor: false }))
  t.teardown(() => Promise.all(running.map(({ stop }) => stop())))
  const head = rightOf(await store.head())
  await Promise.all(running.map(({ caughtUpTo }) => caughtUpTo(head, neverAborted)))
  return {
    ...history,
    running,
    titlesIn: async (one: Projection<Title>) => rightOf(await documents.count(collectionOf(anyProjection(one)))),
  }
}

test('read models that are missing at the same time are built in one pass over the log', async (t) => {
  const others = ['second', 'third'].map((name) => ({ ...titles, name }))
  const { begun, titlesIn } = await openMissing(t, titles, ...others)
  t.is(begun.filter((after) => after === 0n).length, 1)
  for (const one of [titles, ...others]) t.is(await titlesIn(one), 3)
})

test('read models whose building was interrupted go on together, from the last of them, and none has an event twice', async (t) => {
  const { store, documents, close } = await openSqliteStores()
  t.teardown(close)
  for (let n = 1; n <= 9; n += 1) rightOf(await store.append(`conversion-${n}`, 'no-stream', [defined(n)]))
  const others = ['second', 'third'].map((name) => anyProjection({ ...titles, name }))
  const all = [projection, ...others]
  const cameTo = [4, 7, 2]
  const handed = new Map<string, Array<bigint>>()
  const watched: Documents = {
    ...documents,
    apply: (collection, changes, position) => {
      const seen = changes.map((change) => change.position)
      handed.set(collection.name, [...(handed.get(collection.name) ?? []), ...seen])
      return documents.apply(collection, changes, position)
    },
  }
  for (const [n, one] of all.entries()) {
    const next = collectionOf(one, 'next')
    rightOf(await documents.prepare(next))
    rightOf(await documents.apply(next, [], positionAt(cameTo[n] ?? 0)))
  }
  const history = watchedHistory(store)
  const building = buildTogether(turnTime)
  await Promise.all(all.map((one) => building({ projection: one, documents: watched }, history.store, neverAborted)))
  t.deepEqual(history.begun.slice(0, 1), [2n])
  t.true(
    history.begun.slice(1).every((after) => after === 9n),
    'only what came later is read alone',
  )
  for (const [n, one] of all.entries()) {
    const missing = Array.from({ length: 9 - (cameTo[n] ?? 0) }, (_, at) => BigInt((cameTo[n] ?? 0) + at + 1))
    t.deepEqual(handed.get(one.name), missing, one.name)
  }
})

test('where the log is away while read models are built together, they go on together when it is back', async (t) => {
  const store = memoryEventStore(memoryLog())
  for (let n = 1; n <= 3; n += 1) rightOf(await store.append(`conversion-${n}`, 'no-stream', [defined(n)]))
  const begun: Array<bigint> = []
  async function* history(...range: Parameters<EventStore['history']>): ReturnType<EventStore['history']> {
    begun.push(range[0])
    if (begun.length === 1) throw new Error('the store was away')
    yield* store.history(...range)
  }
  const ports = { store: { ...store, history }, documents: memoryDocuments(documentState()), backoff: nextTurn }
  const build = buildTogether(turnTime)
  const running = [titles, { ...titles, name: 'second' }, { ...titles, name: 'third' }].map((one) =>
    runProjection(anyProjection(one), {
      ...ports,
      logger: recordingLogger(),
      monotonic: turnTime,
      build,
      isWaitedFor: false,
    }),
  )
  t.teardown(() => Promise.all(running.map(({ stop }) => stop())))
  const head = rightOf(await store.head())
  await Promise.all(running.map(({ caughtUpTo }) => caughtUpTo(head, neverAborted)))
  t.deepEqual(
    begun.filter((after) => after < head),
    [0n, 0n],
  )
})

test('a read model that can not be built stops alone, though others are built with it', async (t) => {
  const failing: Projection<Title> = {
    ...titles,
    name: 'failing',
    evolve: () => {
      throw new Error('it can not be folded')
    },
  }
  const { running, titlesIn } = await openMissing(t, titles, failing)
  t.is(await titlesIn(titles), 3)
  t.deepEqual(
    running.map((one) => one.failure() === undefined),
    [true, false],
  )
})

/** Read models that are built in one pass, which has read all of the log and waits for `letGo`. */
const openInOnePass = async (t: ExecutionContext, names: ReadonlyArray<string>) => {
  const store = memoryEventStore(memoryLog())
  for (let n = 1; n <= 3; n += 1) rightOf(await store.append(`conversion-${n}`, 'no-stream', [defined(n)]))
  const logger = recordingLogger()
  const begun: Array<bigint> = []
  let letGo = (): void => undefined
  async function* history(...range: Parameters<EventStore['history']>): ReturnType<EventStore['history']> {
    begun.push(range[0])
    yield* store.history(...range)
    if (begun.length === 1) await new Promise<void>((resolve) => (letGo = resolve))
  }
  const build = buildTogether(turnTime)
  const documents = memoryDocuments(documentState())
  let onWrite = (_name: string): 'lost' | undefined => undefined
  const writtenTo: Array<string> = []
  const guarded: Documents = {
    ...documents,
    apply: async (collection, ...change) => {
      writtenTo.push(collection.name)
      if (onWrite(collection.name) === 'lost') return E.left({ kind: 'unavailable', reason: 'another process has it' })
      return documents.apply(collection, ...change)
    },
  }
  const running = names.map((name) =>
    runProjection(anyProjection({ ...titles, name }), {
      store: { ...store, history },
      documents: guarded,
      logger,
      backoff: nextTurn,
      monotonic: turnTime,
      build,
      isWaitedFor: false,
    }),
  )
  t.teardown(() => Promise.all(running.map(({ stop }) => stop())))
  await until('the log is read', 60_000, () => begun.length === 1)
  await settled()
  return {
    running,
    begun,
    writtenTo,
    /** `look` is called before each write, with the read model's name, and says whether its lease is lost by then. */
    beforeWrites: (look: (name: string) => 'lost' | undefined) => {
      onWrite = look
    },
    warnings: () => logger.lines.filter(({ level }) => level !== 'debug'),
    letGo: () => letGo(),
    head: rightOf(await store.head()),
  }
}

test('a read model that is given up while it is built with others leaves them to go on', async (t) => {
  const { running, warnings, begun, writtenTo, letGo, head } = await openInOnePass(t, ['first', 'second', 'third'])
  await running[0]?.stop()
  letGo()
  await Promise.all(running.slice(1).map(({ caughtUpTo }) => caughtUpTo(head, neverAborted)))
  t.deepEqual(warnings(), [])
  t.is(begun.filter((after) => after === 0n).length, 2, 'the pass, and the one that was told to stop')
  t.false(writtenTo.includes('first'))
})

test('a read model whose lease is lost while it is written with others leaves them to go on', async (t) => {
  const { running, warnings, letGo, head, beforeWrites } = await openInOnePass(t, ['first', 'second'])
  beforeWrites((name) => {
    if (name !== 'first') return undefined
    void running[0]?.stop()
    return 'lost'
  })
  letGo()
  await running[1]?.caughtUpTo(head, neverAborted)
  t.deepEqual(warnings(), [])
})

test('read models that are all given up while they are built together are written to no more', async (t) => {
  const { running, warnings, writtenTo, letGo } = await openInOnePass(t, ['first', 'second'])
  await Promise.all(running.map(({ stop }) => stop()))
  letGo()
  await settled()
  t.deepEqual([warnings(), writtenTo], [[], []])
})

test('a building that is told to stop while others are gathered for one pass stops', async (t) => {
  const stopping = new AbortController()
  const building = buildTogether({ sleep: () => aborted(neverAborted) })
  const store = memoryEventStore(memoryLog())
  rightOf(await store.append(`conversion-${conversionId(1)}`, 'no-stream', [defined(1)]))
  const built = building({ projection, documents: memoryDocuments(documentState()) }, store, stopping.signal)
  await nextTurn()
  stopping.abort()
  await t.throwsAsync(built, { any: true })
})

test('what is built just after others were given up is gathered for one pass', async (t) => {
  const store = memoryEventStore(memoryLog())
  rightOf(await store.append(`conversion-${conversionId(1)}`, 'no-stream', [defined(1)]))
  const begun: Array<bigint> = []
  const history: EventStore['history'] = (...range) => {
    begun.push(range[0])
    return store.history(...range)
  }
  const gatherings: Array<() => void> = []
  const build = buildTogether({ sleep: () => new Promise<void>((resolve) => gatherings.push(resolve)) })
  const documents = memoryDocuments(documentState())
  const building = (name: string, signal: AbortSignal): Promise<void> =>
    build({ projection: anyProjection({ ...titles, name }), documents }, { history }, signal)
  const stopping = new AbortController()
  const givenUp = building('given up', stopping.signal)
  await settled()
  stopping.abort()
  await t.throwsAsync(givenUp, { any: true })
  begun.length = 0
  const first = building('first', neverAborted)
  await settled()
  gatherings[0]?.()
  await settled()
  const second = building('second', neverAborted)
  await settled()
  for (const end of gatherings.slice(1)) end()
  await Promise.all([first, second])
  t.is(begun.filter((after) => after === 0n).length, 1)
})

test('nothing is prepared for a read model that is given up while others are gathered', async (t) => {
  const store = memoryEventStore(memoryLog())
  let endGathering = (): void => undefined
  const build = buildTogether({ sleep: () => new Promise<void>((resolve) => (endGathering = resolve)) })
  const documents = memoryDocuments(documentState())
  const prepared: Array<string> = []
  const watched: Documents = {
    ...documents,
    prepare: (collection) => {
      prepared.push(collection.name)
      return documents.prepare(collection)
    },
  }
  const building = (name: string, signal: AbortSignal): Promise<void> =>
    build({ projection: anyProjection({ ...titles, name }), documents: watched }, store, signal)
  const stopping = new AbortController()
  const givenUp = building('given up', stopping.signal)
  const other = building('other', neverAborted)
  await settled()
  stopping.abort()
  await t.throwsAsync(givenUp, { any: true })
  endGathering()
  await other
  t.deepEqual([...new Set(prepared)], ['other'])
})
