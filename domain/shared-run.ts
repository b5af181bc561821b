/** Runs one after the other; whoever asks while one is under way shares the next, which begins after what they did. */
export const sharedRun = <A>(run: () => Promise<A>): (() => Promise<A>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<A> | undefined
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
