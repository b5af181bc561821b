import { ANY, BACKWARDS, END, jsonEvent, START } from '@eventstore/db-client'
import type { Position, Recorded } from '../../domain/event.js'
import type { Category } from '../../domain/events.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { categoryOf } from '../../domain/stream-name.js'
import type { Truncation } from '../in-process/log-tail.js'
import { positionFrom } from './event-codec.js'
import { withoutConflict } from './retry.js'
import type { StreamCalls } from './stream-calls.js'

/** Held an event for each truncation, whatever its category, of older versions. */
const olderLog = 'truncation-log'

/**
 * Holds an event for each truncation of a stream of the category, so that whoever reads accounts need not know of all
 * erased deliveries. None is an event of Leadloop's (`decodeEvent`), so nobody who follows the log is given it.
 */
const logOf = (category: string): string => `${olderLog}-${category}`

/**
 * Until a scavenge the server gives truncated events to whoever reads the whole log: so many truncations of a category
 * are known, and no more.
 */
const mostKnown = 1_000_000

/** Read at a time. */
const pageSize = 4_000

/** About, in bytes. */
const eventSize = 200

/** Whether an event was truncated. */
export type IsTruncated = (event: Pick<Recorded<unknown>, 'stream' | 'revision'>) => boolean

type Truncations = {
  /** Gives where the truncation stands in the log; undefined where nothing was to be done. */
  readonly truncate: (truncation: Truncation) => Promise<Either<StoreFailure, Position | undefined>>
  /**
   * What was truncated of streams of these categories by what stands after a position. Left, too, once `signal` aborts.
   */
  readonly after: (
    position: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ) => Promise<Either<StoreFailure, IsTruncated>>
}

export const truncations = ({ readPage, write }: StreamCalls): Truncations => {
  const send = async (begin: Parameters<StreamCalls['write']>[1]): Promise<Either<StoreFailure, Position>> => {
    const sent = await write(eventSize, begin)
    return E.isLeft(sent) ? E.left(withoutConflict(sent.left)) : E.right(positionFrom(sent.right.position))
  }

  /** Named first: what is truncated and not named would be given to whoever reads the whole log. */
  const name = async (truncated: string, before: number): Promise<Either<StoreFailure, unknown>> => {
    const log = logOf(categoryOf(truncated))
    const newest = await readPage(log, { direction: BACKWARDS, fromRevision: END, maxCount: 1 })
    if (E.isLeft(newest)) return newest
    const limited =
      newest.right.length > 0
        ? E.right(undefined)
        : await send((client) => client.setStreamMetadata(log, { maxCount: mostKnown }))
    if (E.isLeft(limited)) return limited
    const event = jsonEvent({ type: 'StreamTruncated', data: { stream: truncated, before } })
    return send((client) => client.appendToStream(log, event, { expectedRevision: ANY }))
  }

  /** Adds to `known`, by stream, the revision before which it was truncated, as a log tells it after a position. */
  const learn = async (
    known: Map<string, number>,
    log: string,
    position: Position,
    signal: AbortSignal,
  ): Promise<Either<StoreFailure, undefined>> => {
    let from: bigint | typeof END = END
    while (!signal.aborted) {
      const read = await readPage(log, { direction: BACKWARDS, fromRevision: from, maxCount: pageSize })
      if (E.isLeft(read)) return read
      const newer = read.right.filter(({ event }) => positionFrom(event?.position) > position)
      for (const { event } of newer) {
        const { stream, before } = event?.data as { readonly stream: string; readonly before: number }
        known.set(stream, Math.max(before, known.get(stream) ?? 0))
      }
      const oldest = read.right.at(-1)?.event?.revision
      if (newer.length < pageSize || oldest === undefined || oldest === 0n) return E.right(undefined)
      from = oldest - 1n
    }
    return E.left({ kind: 'unavailable', reason: 'the reading of the log was ended' })
  }

  return {
    truncate: async ({ stream: truncated, before }) => {
      const first = await readPage(truncated, { fromRevision: START, maxCount: 1 })
      if (E.isLeft(first)) return first
      const revision = first.right[0]?.event?.revision
      if (revision === undefined || revision >= BigInt(before)) return E.right(undefined)
      const closing = await readPage(truncated, { fromRevision: BigInt(before), maxCount: 1 })
      if (E.isLeft(closing)) return closing
      if (closing.right[0]?.event?.revision !== BigInt(before)) return E.right(undefined)
      const named = await name(truncated, before)
      if (E.isLeft(named)) return named
      return send((client) => client.setStreamMetadata(truncated, { truncateBefore: before }))
    },
    after: async (position, categories, signal) => {
      const known = new Map<string, number>()
      const logs = [olderLog, ...categories.map(logOf)]
      const learnt = await Promise.all(logs.map((log) => learn(known, log, position, signal)))
      return learnt.find(E.isLeft) ?? E.right(({ stream, revision }) => revision < (known.get(stream) ?? 0))
    },
  }
}
