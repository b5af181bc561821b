import type { MonotonicClock } from '../../../domain/ports.js'

/** All in milliseconds. */
export type Timing = {
  readonly heartbeatEvery: number
  /**
   * How long a heartbeat must not change until the others take its instance for dead: longer than a webhook attempt
   * lasts.
   */
  readonly lease: number
  /** How much earlier the instance itself stops: for clocks of different speed, and for what is in flight then. */
  readonly margin: number
}

export const standardTiming: Timing = { heartbeatEvery: 1_000, lease: 6_500, margin: 1_500 }

/** Whether an instance may still work under its leases. */
export type Liveness = {
  /** By the clock and not by a timer: a process that was paused knows that its time is over before any timer fires. */
  readonly isAlive: () => boolean
  /** Aborts when it has ended. */
  readonly ended: AbortSignal
  /** A heartbeat that was sent at `sentAt` was acknowledged. */
  readonly renew: (sentAt: number) => void
  /** Ends it at once. */
  readonly lose: (reason: string) => void
  /** Ends it after all work has ended in good order. */
  readonly end: () => void
  /** Ends it when no heartbeat was acknowledged in time. Resolves when it has ended. */
  readonly expire: () => Promise<void>
}

export const livenessSince = (
  joinedAt: number,
  { lease, margin }: Timing,
  { now, sleep }: MonotonicClock,
  onLost: (reason: string) => void,
): Liveness => {
  const ended = new AbortController()
  let until = joinedAt + lease - margin
  const hasEnded = (): boolean => ended.signal.aborted
  const isAlive = (): boolean => !hasEnded() && now() < until
  const lose = (reason: string): void => {
    if (hasEnded()) return
    onLost(reason)
    ended.abort()
  }
  return {
    isAlive,
    ended: ended.signal,
    renew: (sentAt) => {
      until = sentAt + lease - margin
    },
    lose,
    end: () => ended.abort(),
    expire: async () => {
      while (!hasEnded()) {
        if (isAlive()) await sleep(until - now(), ended.signal)
        else lose('no heartbeat was acknowledged in time')
      }
    },
  }
}
