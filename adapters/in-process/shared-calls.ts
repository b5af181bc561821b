/** Whoever asks for the same thing while it is being asked for shares the call. */
export const sharedCalls = <A>(): ((key: string, call: () => Promise<A>) => Promise<A>) => {
  const inFlight = new Map<string, Promise<A>>()
  return (key, call) => {
    const shared = inFlight.get(key) ?? call().finally(() => inFlight.delete(key))
    inFlight.set(key, shared)
    return shared
  }
}
