import { setMaxListeners } from 'node:events'
import type { Lease } from '../../../projections/subscriptions/leases.js'

export type TestLease = Lease & {
  /** Another process may hold it from now on. */
  readonly expire: () => void
  /** It is to be given back: valid until the work under it has ended. */
  readonly recall: () => void
}

/** A lease that is valid until the test takes it away. */
export const testLease = (name: string): TestLease => {
  const ending = new AbortController()
  const lost = new AbortController()
  setMaxListeners(0, ending.signal, lost.signal)
  let isValid = true
  const recall = (): void => ending.abort()
  return {
    name,
    isValid: () => isValid,
    ending: ending.signal,
    lost: lost.signal,
    expire: () => {
      isValid = false
      lost.abort()
      recall()
    },
    recall,
  }
}
