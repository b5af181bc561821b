import type { DomainEvent } from '../../domain/events.js'
import type { Recorded } from '../../domain/event.js'
import type { EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'

type Events = ReadonlyArray<Recorded<DomainEvent>>

/** At most `limit` events of a stream from the revision `from` on; fewer only where it ends. */
type StreamPage = (stream: string, from: number, limit: number) => Promise<Either<StoreFailure, Events>>

/** Events that one call brings: bounds how long a server takes for it, and how long it blocks the event loop. */
const pageSize = 500

/** Reads streams page by page: a stream only grows, so its pages fit together. */
export const readByPages =
  (page: StreamPage): EventStore['read'] =>
  async (stream, from = 0, count = Infinity) => {
    const events: Array<Recorded<DomainEvent>> = []
    for (;;) {
      const last = events.at(-1)
      const limit = Math.min(pageSize, count - events.length)
      const next = await page(stream, last === undefined ? from : last.revision + 1, limit)
      if (E.isLeft(next)) return next
      for (const event of next.right) events.push(event)
      if (next.right.length < limit || events.length >= count)
        return E.right({ events, revision: events.at(-1)?.revision ?? 'no-stream' })
    }
  }
