import { setMaxListeners } from 'node:events'
import type { Claim } from '../../projections/subscriptions/leases.js'

export type TestClaim = Claim & {
  /** Another process may hold it from now on. */
  readonly expire: () => void
  /** It is to be given back: held until the work under it has ended. */
  readonly recall: () => void
}

/** A claim that is held until the test takes it away. */
export const testClaim = (name: string): TestClaim => {
  const lost = new AbortController()
  setMaxListeners(0, lost.signal)
  let isHeld = true
  const recall = (): void => lost.abort()
  return {
    name,
    term: 1,
    isHeld: () => isHeld,
    lost: lost.signal,
    release: () => {
      recall()
      return Promise.resolve()
    },
    expire: () => {
      isHeld = false
      recall()
    },
    recall,
  }
}
