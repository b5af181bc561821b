import { LRUCache } from 'lru-cache'
import { abortable, neverAborted } from '../../domain/abortable.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import { beginning, type Position } from '../../domain/event.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { EventStore, MonotonicClock } from '../../domain/ports.js'
import { orThrow, UndecodableEvent } from '../../domain/store-failed.js'
import type { Collection, Documents, Stored } from '../ports.js'
import { CannotFollow, changesOf, collectionOf, keysToRead, writtenOrThrow, type AnyProjection } from '../projection.js'

/** The events of one write, at most; while it goes on, as many are read for the next. `bytes`: about. */
const chunk = { events: 5_000, bytes: 32_000_000 }

/**
 * Batches after which the checkpoint is saved, however few events there were: so that what goes on has little to read
 * again.
 */
const longestUnsaved = 100

/** In bytes, about: the cache of one read model, so that a document which changes often is seldom read back. */
const cacheCapacity = 32_000_000

type Ports = {
  readonly store: Pick<EventStore, 'history'>
  /** Does work on the documents. Where a store fails it may do it again: that goes on from where it came to. */
  readonly onDocuments: <A>(work: (documents: Documents) => Promise<A>) => Promise<A>
}

/** A read model that is built, and where its documents go. */
type BuildTarget = { readonly projection: AnyProjection; readonly documents: Documents }

/** The same, and from where on the log is folded. Nothing more is written to it once `signal` aborts. */
type TargetAtCheckpoint = BuildTarget & { readonly from: Position; readonly signal: AbortSignal }

/** Builds a read model up to the head of the log, beside the one that is served. */
export type Build = (target: BuildTarget, store: Pick<EventStore, 'history'>, signal: AbortSignal) => Promise<void>

/**
 * Builds read models anew from the whole log, beside the live ones, all in one pass. Nothing that is served changes
 * until `Documents.promote`.
 * @throws CannotFollow, and Error when a store fails
 */
export const rebuild = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, onDocuments }: Ports,
  onPosition: (position: Position) => void,
): Promise<void> => {
  for (const projection of projections)
    await onDocuments(async (documents) => orThrow(await documents.drop(nextOf(projection))))
  await onDocuments(async (documents) => {
    const targets = await Promise.all(
      projections.map((projection) => targetAtCheckpoint({ projection, documents }, neverAborted)),
    )
    await foldLog(targets, store, onPosition, neverAborted)
  })
}

const targetAtCheckpoint = async (target: BuildTarget, signal: AbortSignal): Promise<TargetAtCheckpoint> => ({
  ...target,
  from: orThrow(await target.documents.confirmedCheckpoint(nextOf(target.projection))),
  signal,
})

/**
 * Builds one read model, from where an earlier call came to: its checkpoint tells.
 * @throws as `rebuild` does, and when `signal` aborts; what was built until then stays for the next call
 */
export const buildAlone: Build = async (target, store, signal) => {
  await foldLog([await targetAtCheckpoint(target, signal)], store, () => undefined, signal)
}

/**
 * A pass over the log that builds all `targets`. `ending` aborts once nobody is left who wants one; `failure`: why it
 * failed, else undefined.
 */
type Pass = {
  readonly targets: Array<TargetAtCheckpoint>
  readonly ending: AbortController
  readonly failure: Promise<unknown>
}

/** In milliseconds: what is found missing within that time is built in one pass. */
const gathering = 50

/**
 * Builds read models that are missing at the same time in one pass over the log, so that each event is read once. Where
 * there are no documents yet, all of them are missing. After an interruption they go on together, from where the one
 * came to that is furthest behind. One that can't be built holds up no other: then each goes on alone. One that is
 * given up, as where another process takes it over, leaves the pass to the others.
 */
export const buildTogether = (monotonic: Pick<MonotonicClock, 'sleep'>): Build => {
  /** What still takes in what is found missing. */
  let gathered: Pass | undefined

  const gather = (store: Pick<EventStore, 'history'>): Pass => {
    const targets: Array<TargetAtCheckpoint> = []
    const ending = new AbortController()
    const fold = async (): Promise<void> => {
      await monotonic.sleep(gathering, neverAborted)
      // Where all of them were given up, the next pass may be gathered by now.
      if (gathered?.targets === targets) gathered = undefined
      if (targets.length > 1) await foldLog(targets, store, () => undefined, ending.signal)
    }
    const failure = fold().then(
      () => undefined,
      (error: unknown) => error,
    )
    return { targets, ending, failure }
  }

  return async (target, store, signal) => {
    const placed = await targetAtCheckpoint(target, signal)
    if (gathered === undefined || gathered.ending.signal.aborted) gathered = gather(store)
    const { targets, ending, failure } = gathered
    targets.push(placed)
    let failed: unknown
    await abortable(signal, (done) => {
      void failure.then((error) => {
        failed = error
        done()
      })
      return undefined
    })
    if (targets.every((one) => one.signal.aborted)) ending.abort()
    // Tried again soon by all of them, they are built together again. Whoever can't be built meets that alone, and then
    // says so.
    if (failed instanceof Error && !stopsForGood(failed)) throw failed
    await buildAlone(target, store, signal)
  }
}

const stopsForGood = (error: unknown): boolean => error instanceof CannotFollow || error instanceof UndecodableEvent

const nextOf = (projection: AnyProjection): Collection => collectionOf(projection, 'next')

/** Folds what none of them has had yet of the log; each ignores what it has had. */
const foldLog = async (
  targets: ReadonlyArray<TargetAtCheckpoint>,
  store: Pick<EventStore, 'history'>,
  onPosition: (position: Position) => void,
  signal: AbortSignal,
): Promise<void> => {
  const writers = await Promise.all(targets.map(writerOf))
  const categories = [...new Set(targets.flatMap(({ projection }) => projection.categories))]
  let pending: Array<RecordedEvent> = []
  let bytes = 0
  let batches = 0
  const [from = beginning] = targets.map((target) => target.from).toSorted((one, other) => (one < other ? -1 : 1))
  let position = from

  /** What was read is folded and written while more is read. A failure is thrown where it is waited for. */
  let writing = Promise.resolve()

  const flush = async (): Promise<void> => {
    const [events, end] = [pending, position]
    pending = []
    bytes = 0
    batches = 0
    await writing
    signal.throwIfAborted()
    writing = Promise.all(writers.map((write) => write(events, end))).then(() => {
      onPosition(end)
    })
    writing.catch(() => undefined)
  }
  try {
    for await (const batch of store.history(from, categories, signal)) {
      pending.push(...batch.events)
      bytes += approximateBytes(batch.events)
      batches += 1
      position = batch.position
      if (pending.length >= chunk.events || bytes >= chunk.bytes || batches >= longestUnsaved) await flush()
    }
    await flush()
  } finally {
    await writing
  }
}

type Writer = (events: ReadonlyArray<RecordedEvent>, position: Position) => Promise<void>

/** A target that was given up while it was written fails nobody who is built with it. */
const writerOf = async (target: TargetAtCheckpoint): Promise<Writer> => {
  const { signal } = target
  const unlessGivenUp = async <A>(work: Promise<A>): Promise<A | undefined> => {
    try {
      return await work
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }
  const write = signal.aborted ? undefined : await unlessGivenUp(preparedWriter(target))
  return async (events, position) => {
    if (write !== undefined && !signal.aborted) await unlessGivenUp(write(events, position))
  }
}

const preparedWriter = async ({ projection, documents, from }: TargetAtCheckpoint): Promise<Writer> => {
  const collection = nextOf(projection)
  orThrow(await documents.prepare(collection))
  const cache = new LRUCache<string, Stored>({ maxSize: cacheCapacity, sizeCalculation: approximateBytes })
  let fresh = from === beginning

  /** Before the first write there is nothing to read. */
  const load = async (keys: ReadonlyArray<string>): Promise<ReadonlyMap<string, Stored>> => {
    const found = new Map<string, Stored>()
    const missing: Array<string> = []
    for (const key of keys) {
      const stored = cache.get(key)
      if (stored === undefined) missing.push(key)
      else found.set(key, stored)
    }
    if (fresh) return found
    for (const [key, stored] of orThrow(await documents.getToFold(collection, missing))) found.set(key, stored)
    return found
  }

  return async (events, position) => {
    if (position <= from) return
    const mine = events.filter((event) => event.position > from && projection.keyOf(event) !== undefined)
    const before = await load(keysToRead(projection, mine))
    const changes = changesOf(projection, before, mine)
    writtenOrThrow(projection, await documents.apply(collection, changes, position))
    if (changes.length > 0) fresh = false
    for (const change of changes) cache.set(change.key, change)
  }
}
