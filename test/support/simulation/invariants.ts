import { attemptBreaches } from './invariants/attempts.js'
import { backlogBreaches } from './invariants/backlog.js'
import { followUpBreaches } from './invariants/follow-up.js'
import { makingBreaches } from './invariants/making.js'
import { paceBreaches } from './invariants/pace.js'
import { resendBreaches } from './invariants/resends.js'
import { turningOffBreaches } from './invariants/turning-off.js'
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
