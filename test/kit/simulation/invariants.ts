import { attemptBreaches } from './invariant-attempts.js'
import { backlogBreaches } from './invariant-backlog.js'
import { followUpBreaches } from './invariant-follow-up.js'
import { makingBreaches } from './invariant-making.js'
import { paceBreaches } from './invariant-pace.js'
import { resendBreaches } from './invariant-resends.js'
import { turningOffBreaches } from './invariant-turning-off.js'
import type { History } from './simulation.js'
import { outcomesIn } from './told.js'

/** Whatever happened, and wherever it crashed, none of this is so: each sentence names one breach (design, section 5). */
export const breaches = (history: History): ReadonlyArray<string> =>
  [
    attemptBreaches,
    paceBreaches,
    makingBreaches,
    turningOffBreaches,
    backlogBreaches,
    resendBreaches,
    followUpBreaches,
  ].flatMap((breachesOf) => breachesOf(history))

/** How many attempts were recorded. */
export const attemptsIn = ({ events }: History): number => events.flatMap(outcomesIn).length
