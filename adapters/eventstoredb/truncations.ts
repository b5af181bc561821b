import { ANY, BACKWARDS, END, jsonEvent, START, type AppendResult, type ResolvedEvent } from '@eventstore/db-client'
import type { Position, Recorded } from '../../domain/event.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Truncation } from '../in-process/log-tail.js'
import { appendsOfThisProcess } from './appends-in-flight.js'
import { completeRead } from './complete-read.js'
import { ofLeader, type Connection } from './connection.js'
import { positionFrom } from './event-codec.js'
import { withoutConflict, type Retry } from './retry.js'

/** Holds an event for each truncation. None is an event of Leadloop's (`decodeEvent`), so nobody who follows the log is given it. */
const stream = 'truncation-log'

/** Until a scavenge the server gives truncated events to whoever reads the whole log: so many truncations are known, and no more. */
const mostKnown = 1_000_000

/** Read at a time. */
const pageSize = 500

/** About, in bytes. */
const eventSize = 200

/** Whether an event was truncated. */
export type IsTruncated = (event: Pick<Recorded<unknown>, 'stream' | 'revision'>) => boolean

type Truncations = {
  /** Gives where the truncation stands in the log; undefined where nothing was to be done. */
  readonly truncate: (truncation: Truncation) => Promise<Either<StoreFailure, Position | undefined>>
  /** What was truncated of the log after a position. */
  readonly after: (position: Position) => Promise<Either<StoreFailure, IsTruncated>>
}

export const truncations = ({ appends, reads }: Connection, retry: Retry, stopping: AbortSignal): Truncations => {
  const send = async (write: () => Promise<AppendResult>): Promise<Either<StoreFailure, Position>> => {
    const sent = await appendsOfThisProcess.track(() =>
      retry(appends, () => appendsOfThisProcess.send(eventSize, write)),
    )
    return E.isLeft(sent) ? E.left(withoutConflict(sent.left)) : E.right(positionFrom(sent.right.position))
  }
  const page = async (
    from: string,
    options: Parameters<ReturnType<typeof reads.current>['readStream']>[1],
  ): Promise<Either<StoreFailure, ReadonlyArray<ResolvedEvent>>> => {
    const answer = await retry<ReadonlyArray<ResolvedEvent>>(
      reads,
      (cancellation) =>
        completeRead(reads, (client) => client.readStream(from, { ...options, ...ofLeader }), cancellation, stopping),
      [],
    )
    return E.isLeft(answer) ? E.left(withoutConflict(answer.left)) : answer
  }

  /** Named first: what is truncated and not named would be given to whoever reads the whole log. */
  const name = async (truncated: string, before: number): Promise<Either<StoreFailure, unknown>> => {
    const newest = await page(stream, { direction: BACKWARDS, fromRevision: END, maxCount: 1 })
    if (E.isLeft(newest)) return newest
    const limit = () => appends.current().setStreamMetadata(stream, { maxCount: mostKnown })
    const limited = newest.right.length === 0 ? await send(limit) : E.right(undefined)
    if (E.isLeft(limited)) return limited
    const event = jsonEvent({ type: 'StreamTruncated', data: { stream: truncated, before } })
    return send(() => appends.current().appendToStream(stream, event, { expectedRevision: ANY }))
  }

  return {
    truncate: async ({ stream: truncated, before }) => {
      const first = await page(truncated, { fromRevision: START, maxCount: 1 })
      if (E.isLeft(first)) return first
      const revision = first.right[0]?.event?.revision
      if (revision === undefined || revision >= BigInt(before)) return E.right(undefined)
      const closing = await page(truncated, { fromRevision: BigInt(before), maxCount: 1 })
      if (E.isLeft(closing)) return closing
      if (closing.right[0]?.event?.revision !== BigInt(before)) return E.right(undefined)
      const named = await name(truncated, before)
      if (E.isLeft(named)) return named
      return send(() => appends.current().setStreamMetadata(truncated, { truncateBefore: before }))
    },
    after: async (position) => {
      const known = new Map<string, number>()
      let from: bigint | typeof END = END
      for (;;) {
        const read = await page(stream, { direction: BACKWARDS, fromRevision: from, maxCount: pageSize })
        if (E.isLeft(read)) return read
        const newer = read.right.filter(({ event }) => positionFrom(event?.position) > position)
        for (const { event } of newer) {
          const { stream: truncated, before } = event?.data as { readonly stream: string; readonly before: number }
          known.set(truncated, Math.max(before, known.get(truncated) ?? 0))
        }
        const oldest = read.right.at(-1)?.event?.revision
        if (newer.length < pageSize || oldest === undefined || oldest === 0n)
          return E.right(({ stream: one, revision }) => revision < (known.get(one) ?? 0))
        from = oldest - 1n
      }
    },
  }
}
