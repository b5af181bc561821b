import { day, hour, minute } from './duration.js'
import { later, type Instant } from './instant.js'

/** A message that is due waits until then. */
export type Postponement = { readonly kind: 'postpone'; readonly until: Instant; readonly reason: string }

/**
 * In milliseconds: how soon a message is looked at again that waits because its account is disabled, or its month used
 * up. No sooner, since each look appends an event for each engagement of the account.
 */
export const lookAgainAfter = 6 * hour

/**
 * In milliseconds: how soon it is looked at again whether a newer lead has begun, which it does within moments unless
 * something crashed.
 */
const beginningLookAgainAfter = minute

/** In milliseconds: how soon it is looked at again whether the consent of a newer lead was verified. */
const consentLookAgainAfter = hour

/** In milliseconds: so soon what a member wrote is looked at again while a step has the consent checked. */
const ownConsentLookAgainAfter = 5 * minute

/** In milliseconds: what waits for so long for a month that is not used up is dropped. */
export const longestLimited = day

/** Why it waits, or was dropped. Stored in events, by which it is known again: never reword it. */
export const segmentsUsedUp = "the account's segments of this month are used up"

/** Stored and known again likewise. */
const accountDisabled = 'the account is disabled'

const waitsForAccount: ReadonlySet<string> = new Set([accountDisabled, segmentsUsedUp])

/**
 * Whether what was put off for this reason can go on as soon as its account is another: enabled, or with more segments.
 */
export const isOfAccount = (reason: string): boolean => waitsForAccount.has(reason)

/** In milliseconds: how soon it is looked at again whether what it needs can be read. */
const unreadableLookAgainAfter = hour

const because =
  (reason: string) =>
  (until: Instant): Postponement => ({ kind: 'postpone', until, reason })

const forConsent = because('the consent is not verified yet')

/** Why a message waits. */
export const postpone = {
  whileDisabled: (now: Instant) => because(accountDisabled)(later(now, lookAgainAfter)),
  /** It waits no longer. */
  noLonger: because('the account may send again'),
  forNewerBeginning: (now: Instant) => because('a newer lead is about to begin')(later(now, beginningLookAgainAfter)),
  /** It may still be refused. */
  forNewerConsent: (now: Instant) => because('a newer lead awaits its consent')(later(now, consentLookAgainAfter)),
  forConsent,
  forOtherCheck: (now: Instant) => forConsent(later(now, ownConsentLookAgainAfter)),
  whileUnreadable: (now: Instant) => because('what it needs can not be read')(later(now, unreadableLookAgainAfter)),
  forQuietHours: because('quiet hours'),
  forStateLimit: because('the state allows no more messages a day'),
  forManyMessages: because('the contact got as many messages in a day as steps may send'),
  forHeldSender: because('the provider lets nothing of the sender through'),
  forRate: because("the sender's rate"),
}
