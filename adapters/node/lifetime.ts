import { wallTime } from './clock.js'
import { monotonicClock } from './monotonic-clock.js'

/** In milliseconds: more than the two clocks come apart by themselves between two looks. */
const leastPause = 100

type Milliseconds = () => number

/**
 * Milliseconds that go on while the machine is paused. The monotonic clock stands still then, and the clock on the wall
 * is set right afterwards: by how much it has gained since the last look is how long the machine was paused. A clock
 * that is set forward by hand counts as a pause too.
 */
export const lifetimeOf = (monotonic: Milliseconds, wall: Milliseconds): Milliseconds => {
  let ahead = wall() - monotonic()
  let paused = 0
  return () => {
    const now = monotonic()
    const gained = wall() - now - ahead
    ahead += gained
    if (gained > leastPause) paused += gained
    return now + paused
  }
}

/** Of this process. */
export const lifetime: Milliseconds = lifetimeOf(monotonicClock.now, wallTime)
