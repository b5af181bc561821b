import { LRUCache } from 'lru-cache'
import type { DomainEvent } from '../../domain/events.js'
import type { Recorded } from '../../domain/event.js'
import type { Antecedent, Revision } from '../../domain/ports.js'

/** A folded stream. */
export type Known<State> = {
  readonly state: State
  readonly revision: Revision
  readonly last: Antecedent | undefined
}

/** Folded streams that are kept, so that a busy one is not read again for each command. */
export type KeptStreams = {
  readonly get: (stream: string) => Known<unknown> | undefined
  readonly set: (stream: string, known: Known<unknown>) => void
  readonly forget: (stream: string) => void
  /** Forgets every stream that went on without us. */
  readonly saw: (events: ReadonlyArray<Recorded<DomainEvent>>) => void
  readonly forgetAll: () => void
}

const capacity = 5_000

/** In milliseconds: what others write is seen at once, and when nothing can be seen, nothing is kept for longer. */
const longestTrust = 5_000

/** `isShared`: whether other processes write to the streams too. */
export const keptStreams = (isShared: boolean): KeptStreams => {
  const kept = new LRUCache<string, Known<unknown>>({ max: capacity, ttl: isShared ? longestTrust : 0 })
  /** The newest revisions seen in the log: a read that began before the event must not be kept after it. */
  const seen = new LRUCache<string, number>({ max: capacity })

  return {
    get: (stream) => kept.get(stream),
    set: (stream, known) => {
      if (isBehind(known.revision, seen.get(stream))) kept.delete(stream)
      else kept.set(stream, known)
    },
    forget: (stream) => {
      kept.delete(stream)
    },
    saw: (events) => {
      for (const { stream, revision } of events) {
        seen.set(stream, revision)
        const known = kept.get(stream)
        if (known !== undefined && isBehind(known.revision, revision)) kept.delete(stream)
      }
    },
    forgetAll: () => {
      kept.clear()
    },
  }
}

const isBehind = (revision: Revision, newest: number | undefined): boolean =>
  newest !== undefined && (revision === 'no-stream' || revision < newest)
