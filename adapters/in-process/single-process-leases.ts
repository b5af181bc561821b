import { setMaxListeners } from 'node:events'
import { E } from '../../domain/prelude.js'
import type { Lease, Membership } from '../../projections/subscriptions/leases.js'

/** No lease of a process that works alone is ever lost. */
const never = new AbortController().signal
setMaxListeners(0, never)

type GrantedLease = { readonly ending: AbortController; readonly work: Promise<void> }

/** The `Membership` of a process that works alone: it is granted every lease at once and keeps it until it leaves. */
export const singleProcessMembership = (): Membership => {
  const granted = new Set<GrantedLease>()

  const grant = (name: string, begin: (lease: Lease) => Promise<void>): void => {
    const ending = new AbortController()
    // Everything that works under a lease listens to this signal: more listeners than Node's limit are no leak here.
    setMaxListeners(0, ending.signal)
    let isValid = true
    const lease: Lease = { name, isValid: () => isValid, ending: ending.signal, lost: never }
    const one: GrantedLease = {
      ending,
      work: begin(lease).finally(() => {
        isValid = false
        granted.delete(one)
      }),
    }
    granted.add(one)
  }
  return {
    share: (_work, names, begin) => {
      for (const name of names()) grant(name, begin)
    },
    isDoneElsewhere: () => Promise.resolve(E.right(false)),
    leave: async () => {
      const all = [...granted]
      for (const { ending } of all) ending.abort()
      await Promise.all(all.map(({ work }) => work))
    },
  }
}
