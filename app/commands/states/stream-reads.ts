import type { Revision } from '../../../domain/event.js'

/** A read in flight. Its result may lack events that are appended meanwhile. */
type ReadInFlight = {
  /** Whether the stream, read up to `revision`, lacks nothing that is known to have been appended meanwhile. */
  readonly lacksNothing: (revision: Revision) => boolean
  /** To be called when it is read. */
  readonly end: () => void
}

/** The reads of streams that are in flight, and what is appended meanwhile, as far as it is known. */
type StreamReads = {
  readonly begin: (stream: string) => ReadInFlight
  readonly appended: (stream: string, revision: number) => void
  /** Another subscription begins: what was read before may lack events that no subscription delivers. */
  readonly subscribed: () => void
}

export const streamReads = (): StreamReads => {
  /** By stream, the newest revision that is known since the first of its readers began. */
  const inFlight = new Map<string, { newest: number; readers: number }>()
  let subscriptions = 0

  return {
    begin: (stream) => {
      const subscription = subscriptions
      const read = inFlight.get(stream) ?? { newest: -1, readers: 0 }
      read.readers += 1
      inFlight.set(stream, read)
      return {
        lacksNothing: (revision) => subscription === subscriptions && isAtLeast(revision, read.newest),
        end: () => {
          read.readers -= 1
          if (read.readers === 0) inFlight.delete(stream)
        },
      }
    },
    appended: (stream, revision) => {
      const read = inFlight.get(stream)
      if (read !== undefined) read.newest = Math.max(read.newest, revision)
    },
    subscribed: () => {
      subscriptions += 1
    },
  }
}

export const isAtLeast = (revision: Revision, least: number): boolean =>
  least < 0 || (revision !== 'no-stream' && revision >= least)
