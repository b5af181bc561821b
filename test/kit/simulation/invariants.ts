import { attemptBreaches } from './invariant-attempts.js'
import { backlogBreaches } from './invariant-backlog.js'
import { followUpBreaches } from './invariant-follow-up.js'
import { makingBreaches } from './invariant-making.js'
import { concurrencyBreaches } from './invariant-concurrency.js'
import { recordBreaches } from './invariant-records.js'
import { resendBreaches } from './invariant-resends.js'
import { turningOffBreaches } from './invariant-turning-off.js'
import type { History } from './simulation.js'
import { outcomesIn } from './delivery-record.js'

/**
 * One sentence for each promise of deliveries that a history breaks: none, whatever happened and wherever it crashed.
 */
export const breaches = (history: History): ReadonlyArray<string> =>
  [
    attemptBreaches,
    concurrencyBreaches,
    makingBreaches,
    turningOffBreaches,
    backlogBreaches,
    resendBreaches,
    followUpBreaches,
    recordBreaches,
  ].flatMap((breachesOf) => breachesOf(history))

/** How many attempts the log records. */
export const attemptsIn = ({ events }: History): number => events.flatMap(outcomesIn).length
