import { LRUCache } from 'lru-cache'
import type { Aggregate } from '../../domain/aggregate.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import { E } from '../../domain/prelude.js'
import { beginsChain } from '../../domain/event.js'
import type { DomainEvent } from '../../domain/events.js'
import { streamReads } from './states/stream-reads.js'
import { causingEventOf, needsSnapshot, type Aggregates, type Evolver, type MayHaveSnapshots } from './aggregates.js'

/** In bytes, about. */
const capacity = 32_000_000

/** Streams that do not exist, of which only the names are kept: apart, so that made-up ids push no real stream out. */
const capacityOfMissing = 500

export type AggregateCache = Aggregates & {
  /**
   * Takes over an aggregate to which `count` events were appended past it, at the revision at which it was loaded here.
   */
  readonly appended: (evolver: MayHaveSnapshots, stream: string, after: Aggregate<unknown>, count: number) => void
}

/**
 * A cache around aggregates, so that a busy stream is not read again for each command. Only for a store that no other
 * process writes to: the cache would not learn what others append.
 */
export const aggregateCache = (aggregates: Aggregates): AggregateCache => {
  const cache = new LRUCache<string, Aggregate<unknown>>({ maxSize: capacity, sizeCalculation: approximateBytes })
  const missing = new LRUCache<string, Aggregate<unknown>>({ max: capacityOfMissing })
  const cached = (stream: string): Aggregate<unknown> | undefined => cache.get(stream) ?? missing.get(stream)
  const reads = streamReads()

  const put = (evolver: MayHaveSnapshots, stream: string, after: Aggregate<unknown>, count: number): void => {
    if (after.revision !== 'no-stream' && needsSnapshot(evolver, after.revision, count)) cache.delete(stream)
    else cache.set(stream, after)
  }

  return {
    load: async <State, Event extends DomainEvent>(
      evolver: Evolver<State, Event>,
      stream: string,
      assumed?: Aggregate<State>,
    ) => {
      const hit = cached(stream)
      // A stream is folded by one decider.
      if (hit !== undefined) return E.right(hit as Aggregate<State>)
      if (assumed !== undefined) return aggregates.load(evolver, stream, assumed)
      const read = reads.begin(stream)
      const loaded = await aggregates.load(evolver, stream)
      read.end()
      if (E.isRight(loaded) && read.lacksNothing(loaded.right.revision)) {
        const isMissing = loaded.right.revision === 'no-stream'
        const entries = isMissing ? missing : cache
        entries.set(stream, loaded.right)
      }
      return loaded
    },
    append: async (evolver, stream, aggregate, events) => {
      const isCertain = cached(stream)?.revision === aggregate.revision
      const appended = await aggregates.append(evolver, stream, aggregate, events)
      // A read in flight may have begun before. Nobody knows whether an append that failed was written.
      reads.appended(stream, E.isRight(appended) ? appended.right.revision : Number.POSITIVE_INFINITY)
      missing.delete(stream)
      // Where the revision was assumed: a reaction's events have derived ids, so the store may have answered for events
      // that it already had, and the stream may be longer by now.
      const isFirstTime = isCertain || beginsChain(events[0])
      if (E.isLeft(appended) || !isFirstTime) cache.delete(stream)
      else {
        const { state, revision } = appended.right
        put(evolver, stream, { state, revision, last: causingEventOf(events.at(-1)) }, events.length)
      }
      return appended
    },
    appended: (evolver, stream, after, count) => {
      if (after.revision !== 'no-stream') reads.appended(stream, after.revision)
      missing.delete(stream)
      put(evolver, stream, after, count)
    },
  }
}
