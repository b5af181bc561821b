import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { AnyProjection } from '../../../projections/projection.js'
import type { LogFollower } from './limited-wait.js'

/**
 * What was answered and a read model may not show yet: where it must have come to show it, `beginning` where it shows
 * it.
 */
export type UnshownWrites = {
  /** Gives where the read model must come to show these. */
  readonly add: (events: ReadonlyArray<RecordedEvent>) => Position
  /** All up to `position` is expected to be shown, whatever it is. */
  readonly expectAll: (position: Position) => void
  readonly ofKey: (key: string) => Position
  readonly ofAll: () => Position
  /** Of how many events it is not known yet that they are shown. */
  readonly count: () => number
}

/** Of more documents than these no list is kept: then whoever reads one waits for all. */
const mostKeys = 10_000

/** `stopping` aborts when nobody reads any more. */
export const unshownWrites = (
  { keyOf }: Pick<AnyProjection, 'keyOf'>,
  caughtUpTo: LogFollower['caughtUpTo'],
  stopping: AbortSignal,
): UnshownWrites => {
  /** By the key of a document, about in the order of the positions. */
  const ofKeys = new Map<string, Position>()
  let ofEveryKey = beginning
  let newest = beginning
  let isTracked = false
  let count = 0

  const shown = (position: Position): void => {
    for (const [key, wanted] of ofKeys) {
      if (wanted > position) break
      ofKeys.delete(key)
    }
    if (ofEveryKey <= position) ofEveryKey = beginning
    if (newest <= position) newest = beginning
  }

  // One wait at a time for all that is answered meanwhile.
  const track = async (): Promise<void> => {
    isTracked = true
    while (newest !== beginning && !stopping.aborted) {
      const [position, counted] = [newest, count]
      await caughtUpTo(position, stopping)
      shown(position)
      // Some of what was answered meanwhile may stand before `position`: where nothing newer is expected, all is shown.
      count = newest === beginning ? 0 : count - counted
    }
    isTracked = false
  }

  const expect = (position: Position): void => {
    newest = furthest(position, newest)
    if (newest !== beginning && !isTracked) void track()
  }

  return {
    add: (events) => {
      let wanted = beginning
      for (const event of events) {
        const key = keyOf(event)
        if (key === undefined) continue
        count += 1
        wanted = furthest(event.position, wanted)
        const position = furthest(event.position, ofKeys.get(key) ?? beginning)
        ofKeys.delete(key)
        ofKeys.set(key, position)
      }
      expect(wanted)
      if (ofKeys.size > mostKeys) {
        ofKeys.clear()
        ofEveryKey = newest
      }
      return wanted
    },
    expectAll: (position) => {
      ofEveryKey = furthest(position, ofEveryKey)
      expect(position)
    },
    ofKey: (key) => furthest(ofEveryKey, ofKeys.get(key) ?? beginning),
    ofAll: () => newest,
    count: () => count,
  }
}
