import { LRUCache } from 'lru-cache'
import { millisecondsOf } from '../../domain/instant.js'
import type { Clock } from '../../domain/ports.js'

/** Counts requests by the minute, in this process (design, section 7). */
export type RateLimit = {
  /** Counts one request; past `perMinute` (null: no limit) the seconds until the next minute begins. */
  readonly exceeded: (id: string, perMinute: number | null) => number | undefined
}

type Window = { readonly minute: number; count: number }

/** Ids whose counts are kept; the least used ones are forgotten first. */
const keptWindows = 10_000

export const rateLimit = (clock: Clock): RateLimit => {
  const windows = new LRUCache<string, Window>({ max: keptWindows })
  return {
    exceeded: (id, perMinute) => {
      if (perMinute === null) return undefined
      const now = millisecondsOf(clock.now())
      const minute = Math.floor(now / 60_000)
      const known = windows.get(id)
      const window = known?.minute === minute ? known : { minute, count: 0 }
      windows.set(id, window)
      window.count += 1
      return window.count <= perMinute ? undefined : Math.ceil(((minute + 1) * 60_000 - now) / 1000)
    },
  }
}
