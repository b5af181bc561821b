import { LRUCache } from 'lru-cache'
import { abortable, neverAborted } from '../../domain/abortable.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import { beginning, type Position } from '../../domain/event.js'
import type { EventStore, Time } from '../../domain/ports.js'
import { orThrow, UndecodableEvent } from '../../domain/store-failed.js'
import type { Collection, Documents, Stored } from '../ports.js'
import {
  CannotFollow,
  changesOf,
  collectionOf,
  keysToRead,
  writtenOrThrow,
  type AnyProjection,
  type ProjectedEvent,
} from '../projection.js'

/** The events of one write, at most; while it goes on, as many are read for the next. `bytes`: about. */
const chunk = { events: 5_000, bytes: 32_000_000 }

/**
 * Batches after which the checkpoint is saved, however few events there were: so that what goes on has little to read
 * again.
 */
const longestUnsaved = 100

/** Documents in the cache of one read model, so that one which changes often is seldom read back, in bytes, about. */
const cachedDocuments = 32_000_000

type Progress = (position: Position) => void

type Ports = {
  readonly store: Pick<EventStore, 'history'>
  /** Does work on the documents. Where a store fails it may do it again: that goes on from where it came to. */
  readonly onDocuments: <A>(work: (documents: Documents) => Promise<A>) => Promise<A>
}

/** A read model, and where its documents go. */
type Folded = { readonly projection: AnyProjection; readonly documents: Documents }

/** The same, and where its building goes on. */
type Begun = Folded & { readonly begun: Position }

/** Builds a read model up to the head of the log, beside the one that is served. */
export type Build = (one: Folded, store: Pick<EventStore, 'history'>, signal: AbortSignal) => Promise<void>

/**
 * Builds read models anew from the whole log, beside the live ones, all in one pass. Nothing that is served changes
 * until `Documents.promote`.
 * @throws CannotFollow, and Error when a store fails
 */
export const rebuild = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, onDocuments }: Ports,
  progress: Progress,
): Promise<void> => {
  for (const projection of projections)
    await onDocuments(async (documents) => orThrow(await documents.drop(nextOf(projection))))
  await onDocuments(async (documents) => {
    const folded = await Promise.all(projections.map((projection) => cameTo({ projection, documents })))
    await foldLog(folded, store, progress, neverAborted)
  })
}

const cameTo = async (one: Folded): Promise<Begun> => ({
  ...one,
  begun: orThrow(await one.documents.confirmedCheckpoint(nextOf(one.projection))),
})

/**
 * Builds one read model, from where an earlier call came to: its checkpoint tells.
 * @throws as `rebuild` does, and when `signal` aborts; what was built until then stays for the next call
 */
export const build: Build = async (one, store, signal) => {
  await foldLog([await cameTo(one)], store, () => undefined, signal)
}

/** In milliseconds: what is found missing within that time is built in one pass. */
const gathering = 50

/**
 * Builds read models that are missing at the same time in one pass over the log, so that each event is read once. Where
 * there are no documents yet, all of them are missing. After an interruption they go on together, from where the one
 * came to that is furthest behind. One that can't be built holds up no other: then each goes on alone.
 */
export const buildTogether = (time: Pick<Time, 'sleep'>): Build => {
  let open:
    | { readonly folded: Array<Begun>; readonly signals: Array<AbortSignal>; readonly failure: Promise<unknown> }
    | undefined

  const gather = (store: Pick<EventStore, 'history'>) => {
    const folded: Array<Begun> = []
    const signals: Array<AbortSignal> = []
    const pass = async (): Promise<void> => {
      await time.sleep(gathering, neverAborted)
      open = undefined
      if (folded.length > 1) await foldLog(folded, store, () => undefined, AbortSignal.any(signals))
    }
    const failure = pass().then(
      () => undefined,
      (error: unknown) => error,
    )
    return { folded, signals, failure }
  }

  return async (one, store, signal) => {
    const begun = await cameTo(one)
    open ??= gather(store)
    open.folded.push(begun)
    open.signals.push(signal)
    const { failure } = open
    let failed: unknown
    await abortable(signal, (done) => {
      void failure.then((error) => {
        failed = error
        done()
      })
      return undefined
    })
    // Tried again soon by all of them, they are built together again. Whoever can't be built meets that alone, and then
    // says so.
    if (failed instanceof Error && !stopsForGood(failed)) throw failed
    await build(one, store, signal)
  }
}

const stopsForGood = (error: unknown): boolean => error instanceof CannotFollow || error instanceof UndecodableEvent

const nextOf = (projection: AnyProjection): Collection => collectionOf(projection, 'next')

/** Folds what none of them has had yet of the log; each ignores what it has had. */
const foldLog = async (
  folded: ReadonlyArray<Begun>,
  store: Pick<EventStore, 'history'>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> => {
  const builders = await Promise.all(folded.map(builder))
  const categories = [...new Set(folded.flatMap(({ projection }) => projection.categories))]
  let pending: Array<ProjectedEvent> = []
  let bytes = 0
  let batches = 0
  const [begun = beginning] = folded.map((one) => one.begun).toSorted((one, other) => (one < other ? -1 : 1))
  let position = begun

  /** What was read is folded and written while more is read. A failure is thrown where it is waited for. */
  let writing = Promise.resolve()

  const flush = async (): Promise<void> => {
    const [events, end] = [pending, position]
    pending = []
    bytes = 0
    batches = 0
    await writing
    signal.throwIfAborted()
    writing = Promise.all(builders.map((build) => build(events, end))).then(() => {
      progress(end)
    })
    writing.catch(() => undefined)
  }
  try {
    for await (const batch of store.history(begun, categories, signal)) {
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

type Builder = (events: ReadonlyArray<ProjectedEvent>, position: Position) => Promise<void>

const builder = async ({ projection, documents, begun }: Begun): Promise<Builder> => {
  const collection = nextOf(projection)
  orThrow(await documents.prepare(collection))
  const cache = new LRUCache<string, Stored>({ maxSize: cachedDocuments, sizeCalculation: approximateBytes })
  let fresh = begun === beginning

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
    if (position <= begun) return
    const mine = events.filter((event) => event.position > begun && projection.keyOf(event) !== undefined)
    const before = await load(keysToRead(projection, mine))
    const changes = changesOf(projection, before, mine)
    writtenOrThrow(projection, await documents.apply(collection, changes, position))
    if (changes.length > 0) fresh = false
    for (const change of changes) cache.set(change.key, change)
  }
}
