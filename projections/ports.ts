import { isPosition, type Position } from '../domain/event.js'
import type { StoreFailure } from '../domain/ports.js'
import type { Either } from '../domain/prelude.js'

/** A value that an index orders by. Absent fields leave the document out of the index. */
export type IndexValue = string | number

/** A document: JSON whose indexed fields stand at the top. */
export type Json = { readonly [field: string]: unknown }

/** Names the fields of each index: all but the last are matched, the last one orders, the key breaks ties. */
export type Indexes = { readonly [index: string]: ReadonlyArray<string> }

/** A named set of documents. `generation` tells the one that is served from one that is being built beside it. */
export type Collection = {
  readonly name: string
  readonly version: number
  readonly indexes: Indexes
  readonly generation: 'live' | 'next'
  /** Fields of the documents that hold fields whose names vendors or customers chose. */
  readonly namedByOthers?: ReadonlyArray<string>
}

/** `document: undefined` removes. A change that is not newer than what stands under its key is ignored. */
export type Change = { readonly key: string; readonly document: Json | undefined; readonly position: Position }

/** What stands under a key: the position of the newest change to it, which may have removed the document. */
export type Stored = { readonly document: Json | undefined; readonly position: Position }

/**
 * Why nothing may be written: a change or the checkpoint stands at what is no position. Undefined where all are
 * positions.
 */
export const misplacedIn = (changes: ReadonlyArray<Change>, checkpoint: Position): StoreFailure | undefined =>
  isPosition(checkpoint) && changes.every(({ position }) => isPosition(position))
    ? undefined
    : { kind: 'corrupt', reason: 'what is to be written stands at no position of a log' }

export type Entry = { readonly key: string; readonly document: Json }

/** `document` is undefined where what is stored can't be decoded. */
export type WalkedEntry = { readonly key: string; readonly document: Json | undefined }

export type Cursor = { readonly value: IndexValue; readonly key: string }

export type IndexPart = {
  readonly index: string
  /** One value for each field of the index but the last. Where a document has null or nothing none finds it. */
  readonly equals: ReadonlyArray<IndexValue>
  /** Inclusive bounds on the last field. */
  readonly from?: IndexValue
  readonly upTo?: IndexValue
}

/** Counts as far as `limit`: what there is beyond it costs nothing. */
export type CountedPart = IndexPart & { readonly limit: number }

/** Where somebody is shown a count it stops here, and stands for as many or more. */
export const mostCounted = 10_000

export type Query = IndexPart & {
  /** Begin after this entry, in the direction of the query. */
  readonly after?: Cursor
  readonly descending?: boolean
  /** Keys of documents that are left out, without being read: some thousands at most. */
  readonly except?: ReadonlyArray<string>
  readonly limit: number
}

export type Documents = {
  /** Makes the collection and its indexes ready; what is there already stays. */
  readonly prepare: (collection: Collection) => Promise<Either<StoreFailure, void>>
  readonly exists: (collection: Collection) => Promise<Either<StoreFailure, boolean>>
  /** What was ever put or removed under these keys. */
  readonly get: (
    collection: Collection,
    keys: ReadonlyArray<string>,
  ) => Promise<Either<StoreFailure, ReadonlyMap<string, Stored>>>
  /**
   * The same for who folds events into these documents and calls `apply` then, which tells where the collection was
   * replaced meanwhile: so nobody has to look for that before.
   */
  readonly getToFold: Documents['get']
  readonly find: (collection: Collection, query: Query) => Promise<Either<StoreFailure, ReadonlyArray<Entry>>>
  /** How many documents there are, or how many of them stand in a part of an index, its limit at most. */
  readonly count: (collection: Collection, part?: CountedPart) => Promise<Either<StoreFailure, number>>
  /**
   * The different values of the first field of an index, in no particular order. It costs what there are values,
   * however many documents have each of them.
   */
  readonly values: (collection: Collection, index: string) => Promise<Either<StoreFailure, ReadonlyArray<IndexValue>>>
  /** All of it, ordered by key. A document that can't be decoded keeps no other from being given. */
  readonly all: (collection: Collection) => AsyncIterable<WalkedEntry>
  /**
   * Writes the changes and then the checkpoint, durably and never backward; nothing where `misplacedIn` them is a
   * failure. After `unavailable` the caller begins again with `confirmedCheckpoint`: what it had read may be lost.
   * `corrupt` stays so.
   */
  readonly apply: (
    collection: Collection,
    changes: ReadonlyArray<Change>,
    checkpoint: Position,
  ) => Promise<Either<StoreFailure, void>>
  /**
   * How far the collection has come, for who goes on from there and writes; `beginning` when nothing was applied. What
   * was read of the collection before may be lost, nothing that is read of it afterwards: a server confirms that with a
   * write.
   */
  readonly confirmedCheckpoint: (collection: Collection) => Promise<Either<StoreFailure, Position>>
  /** The same for who only looks: nothing is written, nor confirmed. */
  readonly checkpoint: (collection: Collection) => Promise<Either<StoreFailure, Position>>
  /**
   * Puts the `next` generation in the place of the live one, and of every other version, at once. After `unavailable`
   * it may be repeated.
   */
  readonly promote: (collection: Collection) => Promise<Either<StoreFailure, void>>
  readonly drop: (collection: Collection) => Promise<Either<StoreFailure, void>>
  /** Whether no byte of what was removed is left in the files that this process keeps; tries to make it so. */
  readonly purge: () => Promise<Either<StoreFailure, boolean>>
}
