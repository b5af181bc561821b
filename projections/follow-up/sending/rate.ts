import { LRUCache } from 'lru-cache'
import type { OwnSender } from '../../../domain/account.js'
import { instantOf, millisecondsOf, type Instant } from '../../../domain/instant.js'
import type { TurnId } from '../due/due-in-shard.js'

/** When senders with a rate of their own may send. */
export type SendingRates = {
  /** Takes the next free place of a sender for a message. Undefined: it may go out now; else the message waits until then. */
  readonly placeOf: (sender: OwnSender | null, id: TurnId, now: Instant) => Instant | undefined
}

/** Messages that wait for their place, at most: one that is forgotten takes another. */
const mostWaiting = 100_000

/**
 * In the memory of this process. `share` is the part of all contacts that it follows up now, and it uses as much of each rate: so all
 * processes together keep to it.
 */
export const sendingRates = (share: () => number): SendingRates => {
  const free = new Map<string, number>()
  // Not `max`, at which room for as many would be made at once.
  const places = new LRUCache<TurnId, number>({ maxSize: mostWaiting, sizeCalculation: () => 1 })
  const taken = (from: string, interval: number, now: number): number => {
    const place = Math.max(now, free.get(from) ?? 0)
    free.set(from, place + interval)
    return place
  }
  return {
    placeOf: (sender, id, at) => {
      const perSecond = sender?.messages_per_second
      if (sender === null || typeof perSecond !== 'number') return undefined
      const now = millisecondsOf(at)
      const place = places.get(id) ?? taken(sender.from, 1_000 / (perSecond * share()), now)
      if (place <= now) {
        places.delete(id)
        return undefined
      }
      places.set(id, place)
      return instantOf(place)
    },
  }
}
