import { NaturalNumber, t } from './codec.js'
import { Instant } from './instant.js'

/**
 * How an engagement is followed up: by the settings that its playbook had at this version. `first_step_at` is null
 * where no hour is left in which its contact may be written to. `consent`, where it is there: `awaited`, so that
 * nothing is sent before a service has verified it, or `refused`, since its URL is of no host that the account accepts.
 */
export const FollowUp = t.intersection(
  [
    t.type({ playbook_version: NaturalNumber, first_step_at: t.union([Instant, t.null]) }),
    t.partial({ consent: t.keyof({ awaited: null, refused: null }) }),
  ],
  'a follow-up',
)
export type FollowUp = t.TypeOf<typeof FollowUp>

/**
 * What comes after a step: when the next one is due, null where there is none, and when a silent contact is given up.
 */
export const AfterStep = t.type({ next_step_at: t.union([Instant, t.null]), gives_up_at: Instant }, 'what comes after')
export type AfterStep = t.TypeOf<typeof AfterStep>
