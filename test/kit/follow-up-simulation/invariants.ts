import { recordBreaches } from '../simulation/invariant-records.js'
import { hoursBreaches } from './invariant-hours.js'
import { onceBreaches } from './invariant-once.js'
import { silenceBreaches } from './invariant-silence.js'
import { stepBreaches } from './invariant-steps.js'
import type { Month } from './month.js'

/** One sentence for each promise of follow-ups that a month breaks. */
export const breaches = (month: Month): ReadonlyArray<string> =>
  [silenceBreaches, hoursBreaches, stepBreaches, onceBreaches, recordBreaches].flatMap((breachesOf) =>
    breachesOf(month),
  )
