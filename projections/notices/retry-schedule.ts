import { later, type Instant } from '../../domain/instant.js'

/** In milliseconds. */
const first = 60_000
const longest = 4 * 60 * 60_000

/**
 * When the next mailing comes after `attempt` (1 to 32) failed at `at`: a minute later, then twice as long each time, four
 * hours at most; 31 retries take 4 days and a quarter of an hour.
 */
export const nextMailingAt = (attempt: number, at: Instant): Instant =>
  later(at, Math.min(first * 2 ** (attempt - 1), longest))
