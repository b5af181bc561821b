import { setMaxListeners } from 'node:events'
import type { Lease } from '../../../projections/subscriptions/leases.js'

export type TestLease = Lease & {
  /** Another process may hold it from now on. */
  readonly expire: () => void
  /** It is to be given back: held until the work under it has ended. */
  readonly recall: () => void
}

/** A lease that is held until the test takes it away. */
export const testLease = (name: string): TestLease => {
  const lost = new AbortController()
  setMaxListeners(0, lost.signal)
  let isHeld = true
  const recall = (): void => lost.abort()
  return {
    name,
    isHeld: () => isHeld,
    lost: lost.signal,
    expire: () => {
      isHeld = false
      recall()
    },
    recall,
  }
}
