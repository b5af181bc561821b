import { setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import { nextTurn } from './turns.js'

/** For what is to last some time: an outage, a slow receiver, the pace of a load. */
export const sleep = (milliseconds: number): Promise<void> => wait(milliseconds)

/**
 * Looks that follow each other without a pause: most things that a test can look at without a request take some turns
 * of the event loop.
 */
const looksAtOnce = 50

/** In milliseconds. */
const longestPause = 50

/**
 * Looks again and again until `isSo`, by default until a truth is seen, and resolves with what was seen then; rejects
 * when it is not so within `most` milliseconds.
 */
export const until = async <Seen>(
  what: string,
  most: number,
  look: () => Seen | Promise<Seen>,
  isSo: (seen: Seen) => boolean = Boolean,
): Promise<Seen> => {
  const end = performance.now() + most
  for (let looks = 1; ; looks += 1) {
    const looking = look()
    const seen = await looking
    if (isSo(seen)) return seen
    if (performance.now() > end) throw new Error(`not within ${most} ms: ${what}; seen at last: ${inspect(seen)}`)
    const pauses = looking instanceof Promise ? looks : looks - looksAtOnce
    await (pauses <= 0 ? nextTurn() : sleep(Math.min(longestPause, pauses)))
  }
}
