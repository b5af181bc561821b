import { existsSync, statSync } from 'node:fs'
import { databaseFile } from '../../../adapters/sqlite/database.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { Instant } from '../../../domain/instant.js'
import type { EventStore, MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isFinal, orThrow, StoreFailed } from '../../../domain/store-failed.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { checkpointCollection } from '../../../projections/subscriptions/checkpoint.js'
import { snapshotCollection } from '../../commands/snapshots.js'
import type { Config } from '../config.js'
import { checkpointedNames } from '../followers.js'
import { secretKeyFile } from './secrets.js'
import type { Stores } from '../stores.js'

/** The key is made after the file got its first page, so an empty file beside a key has lost what it held. */
export const wasEmptied = (config: Pick<Config, 'dataDir'>): boolean => {
  const file = databaseFile(config.dataDir)
  return existsSync(file) && statSync(file).size === 0 && existsSync(secretKeyFile(config))
}

/** An account begins every log; undefined while the log is empty. */
export const firstEventOf = async (store: EventStore): Promise<RecordedEvent | undefined> => {
  for await (const { events } of store.history(beginning, ['account'], neverAborted)) {
    if (events[0] !== undefined) return events[0]
  }
  return undefined
}

/**
 * A clock that ran ahead goes on from the newest event of the log: what was due by it would else wait for days that it
 * has walked already.
 */
export const goOnFromNewest = async (
  { clockRate }: Pick<Config, 'clockRate'>,
  store: Pick<EventStore, 'newestTime'>,
  clock: { readonly goOnFrom: (instant: Instant) => void },
): Promise<void> => {
  const newest = clockRate > 1 ? orThrow(await store.newestTime()) : undefined
  if (newest !== undefined) clock.goOnFrom(newest)
}

/** What this process must know of the log before anything else. */
export const logCollection: Collection = { name: 'log', version: 1, indexes: {}, generation: 'live' }
const firstEventKey = 'first_event'

/** The names of all collections of documents. */
const collectionNames = [
  logCollection.name,
  snapshotCollection.name,
  ...checkpointedNames,
  ...readModels.map(({ name }) => name),
]

/** Before anything is written: left, one sentence, where documents would stand among those of another application. */
export const ofNobodyElse = async ({
  refuseForeign,
}: Pick<Stores, 'refuseForeign'>): Promise<Either<string, undefined>> => {
  const refused = await refuseForeign(collectionNames)
  if (E.isRight(refused)) return E.right(undefined)
  if (!isFinal(refused.left)) throw new StoreFailed(refused.left)
  return E.left(`MONGODB_URL: ${refused.left.reason}.`)
}

/**
 * Read models hold positions of one log and would be wrong beside another, so they remember its first event. Left: one
 * sentence, when they were made from another log.
 */
export const ofSameLog = async (
  documents: Documents,
  first: RecordedEvent | undefined,
): Promise<Either<string, undefined>> => {
  orThrow(await documents.prepare(logCollection))
  const stored = orThrow(await documents.get(logCollection, [firstEventKey])).get(firstEventKey)
  const known = stored?.document?.['id']
  if (known !== undefined && known !== first?.id) {
    return E.left('The read models were made from another log: give the stores that belong together, or empty theirs.')
  }
  if (known === undefined && first !== undefined) {
    const change = { key: firstEventKey, document: { id: first.id }, position: first.position }
    orThrow(await documents.apply(logCollection, [change], beginning))
  }
  return E.right(undefined)
}

/**
 * Looks at the head of the log: one node of a cluster may be a moment behind the one that the documents were made from.
 */
const looksAtHead = 10

const furthestIn = (asked: ReadonlyArray<Either<StoreFailure, Position>>): Position =>
  furthest(beginning, ...asked.map(orThrow))

/**
 * A checkpoint beyond the head of the log is no position of it: whoever went on from there would skip what is written
 * next. Left: one sentence, when a read model, served or half built, or a process manager stands so, as it does beside
 * an older copy of its log.
 */
export const withinLog = async (
  { store, documents }: Pick<Stores, 'store' | 'documents'>,
  { sleep }: Pick<MonotonicClock, 'sleep'>,
): Promise<Either<string, undefined>> => {
  const collections = [
    ...readModels.flatMap((one) => [collectionOf(one), collectionOf(one, 'next')]),
    ...checkpointedNames.map(checkpointCollection),
  ]
  const inDocuments = furthestIn(await Promise.all(collections.map((one) => documents.checkpoint(one))))
  const inLog = furthestIn(await Promise.all(checkpointedNames.map((name) => store.checkpoint(name))))
  for (let looks = 1; ; looks += 1) {
    const head = orThrow(await store.head())
    if (inDocuments <= head && inLog <= head) return E.right(undefined)
    if (looks === looksAtHead) return E.left(inLog > head ? copiedCheckpoints : newerDocuments)
    await sleep(500, neverAborted)
  }
}

const newerDocuments =
  'The read models or process managers have come further than the log: put back the log that they were made from, or empty their store.'

/** Those of a backup that was put back whole never stand beyond the head. */
const copiedCheckpoints =
  'The streams checkpoint-… were copied from another log and are further than this one: put back its backup as a whole, or copy it without them.'
