import { over } from '../../domain/abortable.js'
import type { MonotonicClock } from '../../domain/ports.js'

/** What must be over by a time of the monotonic clock. */
export type Limited = { readonly deadline: number; readonly handleDeadline: () => void }

export type Deadlines = {
  /**
   * Handles the deadline of `one` unless it is forgotten before. To be called again when its deadline has come nearer.
   */
  readonly watch: (one: Limited) => void
  readonly forget: (one: Limited) => void
  readonly close: () => void
}

/**
 * One timer for all deadlines: most are forgotten long before, and a timer for each would be a tenth of what a request
 * costs.
 */
export const deadlines = ({ now, sleep }: MonotonicClock): Deadlines => {
  const watched = new Set<Limited>()
  let looksAt = Number.POSITIVE_INFINITY
  let timer: AbortController | undefined

  const lookAt = (at: number): void => {
    timer?.abort(over)
    const { signal } = (timer = new AbortController())
    looksAt = at
    void sleep(Math.ceil(at - now()), signal).then(() => {
      if (!signal.aborted) look()
    })
  }
  const look = (): void => {
    looksAt = Number.POSITIVE_INFINITY
    // A timer may fire a little early.
    const passed = [...watched].filter(({ deadline }) => deadline <= now())
    for (const one of passed) {
      watched.delete(one)
      one.handleDeadline()
    }
    const next = Math.min(...[...watched].map(({ deadline }) => deadline))
    if (next < looksAt) lookAt(next)
  }

  return {
    watch: (one) => {
      watched.add(one)
      if (one.deadline < looksAt) lookAt(one.deadline)
    },
    forget: (one) => {
      watched.delete(one)
    },
    close: () => {
      timer?.abort(over)
      looksAt = Number.POSITIVE_INFINITY
    },
  }
}
