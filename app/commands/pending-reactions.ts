import type { IsBehind } from '../../projections/queries.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import type { LogWatch } from './log-watch.js'
import type { Reactor } from './reactor.js'

/** In milliseconds. */
const longestWait = 1_000

/** Alone, what this process left open is all there is. */
export const behindAlone =
  (reactor: Reactor): IsBehind =>
  () =>
    Promise.resolve(reactor.isBehind())

/** Beside others: what they accepted, as far as it was seen, is waited for a little. */
export const behindOthers =
  (watch: LogWatch, reactions: LeasedFollower): IsBehind =>
  async () => {
    const cause = watch.newestCause()
    await reactions.reached(cause, AbortSignal.timeout(longestWait))
    const position = await reactions.position()
    return position === undefined || position < cause
  }
