/** Ends the sleep of a loop that looks for work whenever it is woken, and then sleeps again. */
export type WakeUp = {
  /**
   * The signal that aborts at the next `wake`. Asked for before the loop looks for work: what comes while it looks wakes it
   * then, too.
   */
  readonly signal: () => AbortSignal
  readonly wake: () => void
}

export const wakeUp = (): WakeUp => {
  let next = new AbortController()
  return {
    signal: () => {
      next = new AbortController()
      return next.signal
    },
    wake: () => next.abort(),
  }
}
