import { approximateBytes } from '../../domain/approximate-size.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'

/**
 * At most `limit` events of a stream, which begin with the revision `from`; fewer only where there are no more. `end`
 * is the newest revision.
 */
type StreamPage<From> = (
  stream: string,
  from: From,
  limit: number,
) => Promise<Either<StoreFailure, ReadonlyArray<RecordedEvent>>>

/**
 * What one call brings at most: bounds how long a server takes for it, and how long it blocks the event loop. The bytes
 * are about those in memory; how large the events of a stream are is known from its first page on.
 */
const pageSize = { first: 25, events: 500, bytes: 2_000_000 }

/** Reads streams page by page: a stream only grows, so its pages fit together. */
export const readByPages =
  (page: StreamPage<number>): EventStore['read'] =>
  async (stream, from = 0, count = Infinity) => {
    const read = await pagesOf(
      (last, limit) => page(stream, last === undefined ? from : last.revision + 1, limit),
      count,
    )
    return E.isLeft(read) ? read : E.right({ events: read.right, revision: read.right.at(-1)?.revision ?? 'no-stream' })
  }

/** The same from the end of a stream on. `page`: gives the newest first. */
export const readLastByPages =
  (page: StreamPage<number | 'end'>): EventStore['readLast'] =>
  async (stream, count) => {
    const read = await pagesOf(
      (last, limit) =>
        last?.revision === 0
          ? Promise.resolve(E.right([]))
          : page(stream, last === undefined ? 'end' : last.revision - 1, limit),
      count,
    )
    return E.isLeft(read) ? read : E.right(read.right.toReversed())
  }

const pagesOf = async (
  page: (last: RecordedEvent | undefined, limit: number) => Promise<Either<StoreFailure, ReadonlyArray<RecordedEvent>>>,
  count: number,
): Promise<Either<StoreFailure, ReadonlyArray<RecordedEvent>>> => {
  const events: Array<RecordedEvent> = []
  let most = pageSize.first
  for (;;) {
    const limit = Math.min(most, count - events.length)
    const next = await page(events.at(-1), limit)
    if (E.isLeft(next)) return next
    for (const event of next.right) events.push(event)
    if (next.right.length < limit || events.length >= count) return E.right(events)
    const bytesOfOne = approximateBytes(next.right) / next.right.length
    most = Math.max(1, Math.min(pageSize.events, Math.floor(pageSize.bytes / bytesOfOne)))
  }
}
