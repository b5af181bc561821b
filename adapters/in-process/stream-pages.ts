import type { DomainEvent } from '../../domain/events.js'
import type { Recorded } from '../../domain/event.js'
import type { EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'

type Events = ReadonlyArray<Recorded<DomainEvent>>

/** At most `limit` events of a stream; fewer only where it ends. */
export type StreamPages = {
  /** From the revision `from` on, in their order. */
  readonly forward: (stream: string, from: number, limit: number) => Promise<Either<StoreFailure, Events>>
  /** Before the revision `before`, or from the end on, the newest first. */
  readonly backward: (
    stream: string,
    before: number | undefined,
    limit: number,
  ) => Promise<Either<StoreFailure, Events>>
}

/** Events that one call brings: bounds how long a server takes for it, and how long it blocks the event loop. */
const pageSize = 500

/** The same where few events are wanted. */
const backwardPageSize = 50

/** Reads streams page by page: a stream only grows, so its pages fit together. */
export const readsByPages = ({ forward, backward }: StreamPages): Pick<EventStore, 'read' | 'readAfter'> => ({
  read: async (stream, from = 0) => {
    const events: Array<Recorded<DomainEvent>> = []
    for (;;) {
      const last = events.at(-1)
      const page = await forward(stream, last === undefined ? from : last.revision + 1, pageSize)
      if (E.isLeft(page)) return page
      for (const event of page.right) events.push(event)
      if (page.right.length < pageSize) return E.right({ events, revision: events.at(-1)?.revision ?? 'no-stream' })
    }
  },
  readAfter: async (stream, position) => {
    const newestFirst: Array<Recorded<DomainEvent>> = []
    for (;;) {
      const page = await backward(stream, newestFirst.at(-1)?.revision, backwardPageSize)
      if (E.isLeft(page)) return page
      const after = page.right.filter((event) => event.position > position)
      newestFirst.push(...after)
      if (after.length < backwardPageSize) return E.right(newestFirst.reverse())
    }
  },
})
