import { instantOf, millisecondsOf, type Instant } from '../../../domain/instant.js'

/**
 * When the next attempt comes after `attempt` (1 to 19) failed at `at`: retry n waits (n-1)^4 + 15 seconds and a jitter of 0 to
 * 10·n seconds, never less. So 18 retries take about 3 days and 19 hours (contract 6.6.3 asks for about four days). `random` is
 * in [0, 1).
 */
export const nextAttemptAt = (attempt: number, at: Instant, random: number): Instant => {
  const seconds = (attempt - 1) ** 4 + 15 + random * 10 * attempt
  return instantOf(millisecondsOf(at) + Math.ceil(seconds * 1000))
}
