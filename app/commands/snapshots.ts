import { LRUCache } from 'lru-cache'
import type { Aggregate } from '../../domain/aggregate.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import { decode, NaturalNumber, t } from '../../domain/codec.js'
import type { SnapshotFormat } from '../../domain/decider.js'
import { beginning, type Position } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Collection, Documents, Json } from '../../projections/ports.js'

/** An aggregate as it was at a revision. */
type Snapshot<State> = Aggregate<State> & {
  readonly revision: number
  readonly last: NonNullable<Aggregate<State>['last']>
}

/**
 * Aggregates of long streams as they were some time ago. Whoever finds one checks it against the stream before it
 * counts.
 */
export type Snapshots = {
  /** What this process has saved or found. */
  readonly inMemory: <State>(format: SnapshotFormat<State>, stream: string) => Snapshot<State> | undefined
  readonly find: <State>(format: SnapshotFormat<State>, stream: string) => Promise<Snapshot<State> | undefined>
  /** `position`: of its last event. Returns at once; what is not saved costs time and nothing else. */
  readonly save: <State>(
    format: SnapshotFormat<State>,
    stream: string,
    snapshot: Snapshot<State>,
    position: Position,
  ) => void
  /**
   * Removes what is kept of a stream, which was erased at this position.
   * @throws StoreFailed
   */
  readonly remove: (stream: string, position: Position) => Promise<void>
}

/**
 * In the version of their documents, not of the states: one stream has one snapshot, which erasing a stream has to
 * remove.
 */
export const snapshotCollection: Collection = { name: 'snapshots', version: 1, indexes: {}, generation: 'live' }

/** In bytes, about: the snapshots of the busiest streams need not be looked up. */
const capacity = 16_000_000

/** Snapshots in documents, under the names of their streams. They may be dropped at any time. */
export const documentSnapshots = (documents: Pick<Documents, 'prepare' | 'get' | 'apply'>): Snapshots => {
  const cache = new LRUCache<string, Json>({ maxSize: capacity, sizeCalculation: approximateBytes })
  let isPrepared = false
  let isSaving = false

  const lookUp = async (stream: string): Promise<Json | undefined> => {
    const found = await documents.get(snapshotCollection, [stream])
    return E.isRight(found) ? found.right.get(stream)?.document : undefined
  }

  const write = async (stream: string, document: Json, position: Position): Promise<void> => {
    isSaving = true
    if (!isPrepared) isPrepared = E.isRight(await documents.prepare(snapshotCollection))
    if (isPrepared) await documents.apply(snapshotCollection, [{ key: stream, document, position }], beginning)
    isSaving = false
  }

  return {
    inMemory: (format, stream) => decoded(format, cache.get(stream)),
    find: async (format, stream) => decoded(format, cache.get(stream) ?? (await lookUp(stream))),
    save: ({ version, codec }, stream, { state, revision, last }, position) => {
      const document = { version, revision, last, state: codec.encode(state) }
      cache.set(stream, document)
      // One at a time: the next one holds more. What is in the cache can't be lost by a server that is away.
      if (!isSaving) void write(stream, document, position)
    },
    remove: async (stream, position) => {
      cache.delete(stream)
      orThrow(await documents.prepare(snapshotCollection))
      orThrow(await documents.apply(snapshotCollection, [{ key: stream, document: undefined, position }], beginning))
    },
  }
}

const decoded = <State>(format: SnapshotFormat<State>, document: Json | undefined): Snapshot<State> | undefined => {
  const snapshot = decode(StoredSnapshot(format), document)
  return E.isRight(snapshot) ? snapshot.right : undefined
}

/** Of another version, or in another format, it is none. */
const StoredSnapshot = <State>({ version, codec }: SnapshotFormat<State>) =>
  t.type({
    version: t.literal(version),
    revision: NaturalNumber,
    last: t.type({ id: t.string, correlationId: t.string }),
    state: codec,
  })
