import type { MonotonicClock } from '../../../domain/ports.js'

/**
 * Waits before something that failed so many times in a row is tried again, or, after no failure, before somebody looks
 * again; ends early when `signal` aborts.
 */
export type Backoff = (failures: number, signal: AbortSignal) => Promise<void>

/** In milliseconds: `first`, then `factor` times as long each time (twice where it is not given), `longest` at most. */
type Growth = { readonly first: number; readonly longest: number; readonly factor?: number }

/** Milliseconds to wait after so many failures in a row. */
export const backoffAfter = ({ first, longest, factor = 2 }: Growth, failures: number): number =>
  Math.min(first * factor ** failures, longest)

export const exponentialBackoff =
  (growth: Growth, { sleep }: Pick<MonotonicClock, 'sleep'>): Backoff =>
  (failures, signal) =>
    sleep(backoffAfter(growth, failures), signal)

/**
 * Whether the log tells that something failed once more, after so many failures in a row before it: of the first, the
 * second, the fourth, the eighth and so on, so that what fails for days leaves a few lines.
 */
export const isLogged = (failuresBefore: number): boolean => Number.isInteger(Math.log2(failuresBefore + 1))
