import { LRUCache } from 'lru-cache'
import { millisecondsOf } from '../../domain/instant.js'
import type { Clock } from '../../domain/ports.js'
import type { Problem } from './problem.js'

/** Counts requests by the minute, in this process alone. */
export type RateLimit = {
  /** Counts one request of `id`; a problem once there are more than `perMinute` (null: no limit) in this minute. */
  readonly consume: (id: string, perMinute: number | null) => Problem | undefined
}

type Window = { readonly minute: number; count: number }

/** Ids that are counted at a time; the least recently used is forgotten first. */
const capacity = 10_000

export const rateLimit = (clock: Clock): RateLimit => {
  const windows = new LRUCache<string, Window>({ max: capacity })
  return {
    consume: (id, perMinute) => {
      if (perMinute === null) return undefined
      const now = millisecondsOf(clock.now())
      const minute = Math.floor(now / 60_000)
      const known = windows.get(id)
      const window = known?.minute === minute ? known : { minute, count: 0 }
      windows.set(id, window)
      window.count += 1
      if (window.count <= perMinute) return undefined
      return { kind: 'too-many-requests', retryAfter: Math.ceil(((minute + 1) * 60_000 - now) / 1000) }
    },
  }
}
