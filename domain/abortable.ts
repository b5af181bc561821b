/**
 * Resolves when `begin` calls `done`, or early when `signal` aborts; `begin` may return what is to be undone then. Whoever
 * waits for something that a signal can end waits here, so that no listener is left behind.
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
