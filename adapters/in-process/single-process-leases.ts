import { setMaxListeners } from 'node:events'
import type { Lease, Membership } from '../../projections/subscriptions/leases.js'

/** No lease of a process that works alone is ever lost. */
const never = new AbortController().signal
setMaxListeners(0, never)

type HeldLease = { readonly ending: AbortController; readonly work: Promise<void> }

/** The `Membership` of a process that works alone: it is granted every lease at once and holds it until it leaves. */
export const singleProcessMembership = (): Membership => {
  const held = new Set<HeldLease>()

  const grant = (name: string, begin: (lease: Lease) => Promise<void>): void => {
    const ending = new AbortController()
    // Everything that works under a lease listens to this signal: more listeners than Node's limit are no leak here.
    setMaxListeners(0, ending.signal)
    let isHeld = true
    const lease: Lease = { name, isHeld: () => isHeld, ending: ending.signal, lost: never }
    const one: HeldLease = {
      ending,
      work: begin(lease).finally(() => {
        isHeld = false
        held.delete(one)
      }),
    }
    held.add(one)
  }
  return {
    share: (_work, names, begin) => {
      for (const name of names()) grant(name, begin)
    },
    leave: async () => {
      const all = [...held]
      for (const { ending } of all) ending.abort()
      await Promise.all(all.map(({ work }) => work))
    },
  }
}
