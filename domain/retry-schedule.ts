import { day, hour, minute } from './duration.js'
import { later, millisecondsOf, type Instant } from './instant.js'
import type { MessageReport } from './message.js'
import type { MessengerOutcome } from './messenger.js'

/** How often a delivery is tried again after its first attempt (contract 6.6.3). */
export const deliveryRetries = 18

/** Attempts of one schedule. The webhook is turned off when the last one fails (contract 6.6.4). */
export const mostAttempts = deliveryRetries + 1

/**
 * When the next attempt of a delivery comes after `attempt`, from 1 on, failed at `at`: retry n waits (n-1)^4 + 15
 * seconds and a jitter of 0 to 10·n seconds, never less. So 18 retries take about 3 days and 19 hours (contract 6.6.3
 * asks for about four days). `random` is in [0, 1).
 */
export const nextDeliveryAttemptAt = (attempt: number, at: Instant, random: number): Instant => {
  const seconds = (attempt - 1) ** 4 + 15 + random * 10 * attempt
  return later(at, Math.ceil(seconds * 1000))
}

/** Attempts of one message, over a day: after the last one it is too late for its step. */
const mostMessageAttempts = 28

/** In milliseconds, after `attempt`, from 1 on, failed: a minute, then twice as long each time, `longest` at most. */
const doublingWait = (attempt: number, longest: number): number => Math.min(minute * 2 ** (attempt - 1), longest)

/**
 * When a message is tried again after `attempt`, from 1 on, failed at `at`: a minute later, then twice as long each
 * time, an hour at most.
 */
export const nextMessageAttemptAt = (attempt: number, at: Instant): Instant => later(at, doublingWait(attempt, hour))

/**
 * When a message is tried again whose `attempt` failed at `at`, and how; undefined where that was the last one. While
 * its sender is blocked an attempt says nothing of the message, so none is the last.
 */
export const messageRetryAt = (
  attempt: number,
  failure: MessageReport['kind'] | MessengerOutcome['kind'],
  at: Instant,
): Instant | undefined =>
  attempt < mostMessageAttempts || failure === 'sender-blocked' ? nextMessageAttemptAt(attempt, at) : undefined

/**
 * When a provider is asked again to erase its copy, after `attempt`, from 1 on, failed at `at`: an hour later, then a
 * day later each time. Undefined after two weeks.
 */
export const nextCopyErasureAt = (attempt: number, at: Instant): Instant | undefined =>
  attempt > 14 ? undefined : later(at, attempt === 1 ? hour : day)

/** In milliseconds: for so long may checks of a consent fail, until no message is sent any more. */
const longestConsentWait = day

/**
 * When a consent is checked again after `check`, from 1 on, failed at `at`, as the checks before it did since `since`:
 * as soon as a message would be tried again, and once more when a day is over. Undefined after that.
 */
export const nextConsentCheckAt = (check: number, since: Instant, at: Instant): Instant | undefined => {
  const end = later(since, longestConsentWait)
  if (at >= end) return undefined
  const next = nextMessageAttemptAt(check, at)
  return next < end ? next : end
}

/**
 * Since when checks of a consent fail, where those before the one at `at` did since `since`. Where nobody checked for a
 * day or longer after `due`, such as while the service was down, the account disabled, or a member wrote nothing,
 * nobody knows of an outage: that time does not count. A shorter one does, so that an outage ends though nobody asks at
 * night.
 */
export const consentFailingSince = (since: Instant, due: Instant, at: Instant): Instant => {
  const unchecked = millisecondsOf(at) - millisecondsOf(due)
  return unchecked < longestConsentWait ? since : later(since, unchecked)
}

/** How often a notice is mailed again after its first attempt. */
export const noticeRetries = 31

/** A notice is abandoned when the last one fails. */
export const mostMailAttempts = noticeRetries + 1

/**
 * When the next attempt to mail a notice comes after `attempt`, from 1 on, failed at `at`: a minute later, then twice
 * as long each time, four hours at most. So 31 retries take 4 days and a quarter of an hour.
 */
export const nextMailAttemptAt = (attempt: number, at: Instant): Instant => later(at, doublingWait(attempt, 4 * hour))
