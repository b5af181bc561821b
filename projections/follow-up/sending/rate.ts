import type { OwnSender } from '../../../domain/account.js'
import { instantOf, millisecondsOf, type Instant } from '../../../domain/instant.js'
import type { TaskId } from '../due/due-in-shard.js'

/** When senders with a rate of their own may send. */
export type SendingRates = {
  /**
   * Takes the next free place of a sender for a message. Undefined: it may go out now; else the message waits until
   * then.
   */
  readonly nextSendTime: (sender: OwnSender | null, id: TaskId, now: Instant) => Instant | undefined
}

/** Places that a sender has at most. Messages beyond them come again when the last one is over. */
const mostPlaces = 100_000

/** In milliseconds: so long after its time a place is still good, since tasks take a moment to begin. */
const goodFor = 10_000

/**
 * In milliseconds. `free`: from when on nobody has a place. `open`: when a message that missed its place may go out.
 * `places`: of messages that wait, the earliest first.
 */
type Pace = { free: number; open: number; readonly places: Map<TaskId, number> }

/**
 * Makes room for one more place, by those that were missed: nobody may ever ask for them again. False: there is none.
 */
const makeRoom = ({ places }: Pace, now: number): boolean => {
  for (const [id, place] of places) {
    if (places.size < mostPlaces || place >= now - goodFor) break
    places.delete(id)
  }
  return places.size < mostPlaces
}

/**
 * In the memory of this process. `share` is the part of all contacts that it follows up now, and it uses as much of
 * each rate: so all processes together keep to it. A message that missed its place, such as for the night, goes out
 * where nothing else does, or takes another.
 */
export const sendingRates = (share: () => number): SendingRates => {
  const paces = new Map<string, Pace>()
  const paceOf = (from: string): Pace => {
    const pace = paces.get(from) ?? { free: 0, open: 0, places: new Map() }
    paces.set(from, pace)
    return pace
  }
  return {
    nextSendTime: (sender, id, at) => {
      const perSecond = sender?.messages_per_second
      if (sender === null || typeof perSecond !== 'number') return undefined
      const now = millisecondsOf(at)
      const pace = paceOf(sender.from)
      const { places } = pace
      const interval = 1_000 / (perSecond * share())
      const known = places.get(id)
      const isMissed = known !== undefined && known < now - goodFor
      const isNew = known === undefined || (isMissed && pace.open > now)
      const place = isNew ? Math.max(now, pace.free) : known
      if (isNew) {
        places.delete(id)
        if (place > now && !makeRoom(pace, now)) return instantOf(place)
        pace.free = place + interval
      }
      if (place <= now) {
        places.delete(id)
        pace.open = Math.max(now, pace.open) + interval
        pace.free = Math.max(now + interval, pace.free)
        return undefined
      }
      places.set(id, place)
      return instantOf(place)
    },
  }
}
