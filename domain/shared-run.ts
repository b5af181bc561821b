/** Runs one after the other; whoever asks while one is under way shares the next, which begins after what they did. */
export const sharedRun = (run: () => Promise<void>): (() => Promise<void>) => {
  let last = Promise.resolve()
  let next: Promise<void> | undefined
  return () => {
    if (next !== undefined) return next
    const shared = last.then(() => {
      next = undefined
      return run()
    })
    next = shared
    last = shared.catch(() => undefined)
    return shared
  }
}
