import type { ActivityLabel } from './activity.js'
import { day, hour } from './duration.js'
import { later, type Instant } from './instant.js'

/** In milliseconds: a scheduled call whose end nobody reports is over so long after its time. */
export const longestCall = hour

/** In milliseconds: a call may be scheduled for a time so far ahead. */
export const furthestCall = 366 * day

/** In milliseconds: a call comes no earlier than so long before its time. */
const longestAhead = hour

/** Whether a report at this time may be of the scheduled call that holds the steps back until `callUntil`. */
export const mayBeOfCall = (callUntil: Instant, reportedAt: Instant): boolean =>
  callUntil <= later(reportedAt, longestCall + longestAhead)

/** A call that was scheduled is over. */
export const endsCall = (label: ActivityLabel): boolean =>
  label === 'phone_call_completed' || label === 'phone_call_missed'
