import type { Time } from '../../domain/ports.js'

/** Waits before something that failed so many times in a row is tried again; ends early when `signal` aborts. */
export type Backoff = (failures: number, signal: AbortSignal) => Promise<void>

/** Exponential: `first` milliseconds, then `factor` times as long each time, `longest` at most. */
export const exponentialBackoff =
  (
    { first, longest, factor = 2 }: { readonly first: number; readonly longest: number; readonly factor?: number },
    { sleep }: Pick<Time, 'sleep'>,
  ): Backoff =>
  (failures, signal) =>
    sleep(Math.min(first * factor ** failures, longest), signal)
