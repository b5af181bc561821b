import { over } from './abortable.js'

/** Ends the sleep of a loop that reads what is due, does it, and sleeps where nothing is. */
export type WakeUp = {
  /**
   * A signal that aborts at the next `wake`. The loop asks for it before it reads what is due, so that what becomes due
   * while it reads ends its sleep at once.
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
    wake: () => next.abort(over),
  }
}
