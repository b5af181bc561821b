import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'

/** What the reads of streams brought. */
type Reads = { readonly calls: number; readonly events: number; readonly bytes: number }

/** The same store, which counts what is read of the streams of a category: by stream, since a test asked last. */
export const countedReads = (
  stored: EventStore,
): { readonly store: EventStore; readonly taken: (category?: string) => Reads } => {
  let counted: Array<Reads & { readonly stream: string }> = []
  const count = (stream: string, events: ReadonlyArray<{ readonly data: unknown }>): void => {
    counted.push({
      stream,
      calls: 1,
      events: events.length,
      bytes: JSON.stringify(events.map(({ data }) => data)).length,
    })
  }
  const store: EventStore = {
    ...stored,
    read: async (stream, from, wanted) => {
      const read = await stored.read(stream, from, wanted)
      count(stream, E.isRight(read) ? read.right.events : [])
      return read
    },
    readLast: async (stream, wanted) => {
      const read = await stored.readLast(stream, wanted)
      count(stream, E.isRight(read) ? read.right : [])
      return read
    },
  }
  return {
    store,
    taken: (category = '') => {
      const mine = counted.filter(({ stream }) => stream.startsWith(category))
      counted = []
      const sum = (of: (reads: Reads) => number): number => mine.reduce((all, one) => all + of(one), 0)
      return { calls: sum(({ calls }) => calls), events: sum(({ events }) => events), bytes: sum(({ bytes }) => bytes) }
    },
  }
}
