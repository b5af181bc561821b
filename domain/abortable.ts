/**
 * Resolves when `begin` calls `done`, or early when `signal` aborts; `begin` may return what is to be undone then. All
 * waiting that a signal can end is done with this, so that no listener is left on the signal.
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
    signal.addEventListener('abort', end)
    const undo = begin(end)
  })

/** Resolves when `signal` aborts, at once when it has. */
export const aborted = (signal: AbortSignal): Promise<void> => abortable(signal, () => undefined)

/** Resolves when `work` ends, well or not, and early when `signal` aborts. */
export const endedOrAborted = (work: Promise<unknown>, signal: AbortSignal): Promise<void> =>
  abortable(signal, (done) => void work.then(done, done))
