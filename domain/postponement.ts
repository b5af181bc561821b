import { later, type Instant } from './instant.js'

/** A message that is due waits until then. */
export type Postponement = { readonly kind: 'postpone'; readonly until: Instant; readonly reason: string }

/**
 * In milliseconds, until an account that is disabled, or whose month is used up, is looked at again: each look is an event of each of its
 * engagements.
 */
export const lookAgainAfter = 6 * 60 * 60_000

/** In milliseconds, until it is seen anew what became of a consent. */
const consentLookAgainAfter = 60 * 60_000

const because =
  (reason: string) =>
  (until: Instant): Postponement => ({ kind: 'postpone', until, reason })

/** Why a message waits. */
export const postpone = {
  whileDisabled: (now: Instant) => because('the account is disabled')(later(now, lookAgainAfter)),
  /** Its consent may still be refused. */
  forNewerLead: (now: Instant) => because('a newer lead awaits its consent')(later(now, consentLookAgainAfter)),
  forQuietHours: because('quiet hours'),
  forStateLimit: because('the state allows no more messages a day'),
  forHeldSender: because('the provider lets nothing of the sender through'),
  forRate: because("the sender's rate"),
}
