import type { MonotonicClock } from './ports.js'

/**
 * Resolves when `begin` calls `done`, or early when `signal` aborts; `begin` may return what is to be undone then. All
 * waiting that a signal can end is done with this, so that no listener is left on the signal. `done` is not to be
 * called before `begin` has returned.
 */
export const abortable = (signal: AbortSignal, begin: (done: () => void) => (() => void) | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      signal.removeEventListener('abort', end)
      undo?.()
      resolve()
    }
    // All that is ended by nobody shares one signal, which would warn of the eleventh listener.
    if (signal !== neverAborted) signal.addEventListener('abort', end)
    const undo = begin(end)
  })

/** Resolves when `signal` aborts, at once when it has. */
export const aborted = (signal: AbortSignal): Promise<void> => abortable(signal, () => undefined)

/**
 * For an abort whose reason nobody reads: without one it makes an error with a stack, which each request would pay for.
 */
export const over = 'over'

/**
 * The result of `work` where it comes within `milliseconds`, else undefined. Its signal aborts at the end of either.
 */
export const withinLimit = async <A>(
  { sleep }: Pick<MonotonicClock, 'sleep'>,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<A>,
): Promise<A | undefined> => {
  const waiting = new AbortController()
  try {
    return await Promise.race([work(waiting.signal), sleep(milliseconds, waiting.signal).then(() => undefined)])
  } finally {
    waiting.abort(over)
  }
}

/** A signal that nothing aborts: for what ends with its process alone. */
export const neverAborted = new AbortController().signal

/** `signal` aborts, with the same reason, as soon as one of two signals does, until `unlink` is called. */
type Linked = { readonly signal: AbortSignal; readonly unlink: () => void }

/**
 * For work that may be done any number of times beside a signal that lives long: on that `AbortSignal.any` leaves some
 * bytes each time, which go when it does.
 */
export const eitherOf = (one: AbortSignal, other: AbortSignal): Linked => {
  const either = new AbortController()
  const both = [one, other].filter((signal) => signal !== neverAborted)
  const unlink = (): void => {
    for (const signal of both) signal.removeEventListener('abort', end)
  }
  const end = (): void => {
    unlink()
    either.abort(both.find(({ aborted: isAborted }) => isAborted)?.reason)
  }
  for (const signal of both) signal.addEventListener('abort', end)
  if (both.some(({ aborted: isAborted }) => isAborted)) end()
  return { signal: either.signal, unlink }
}
