import { setMaxListeners } from 'node:events'
import type { Lease, Membership } from '../../projections/subscriptions/leases.js'

type Held = { readonly lost: AbortController; readonly work: Promise<void> }

/** The `Membership` of a process that works alone: it is granted everything at once, and keeps it until it leaves. */
export const aloneMembership = (): Membership => {
  const held = new Set<Held>()

  const take = (name: string, begin: (lease: Lease) => Promise<void>): void => {
    const lost = new AbortController()
    // All the work under a lease listens to it.
    setMaxListeners(0, lost.signal)
    let isHeld = true
    const release = async (): Promise<void> => {
      lost.abort()
      await one.work
    }
    const lease: Lease = { name, fencingToken: 1, isHeld: () => isHeld, lost: lost.signal, release }
    const one: Held = {
      lost,
      work: begin(lease).finally(() => {
        isHeld = false
        held.delete(one)
      }),
    }
    held.add(one)
  }
  return {
    share: (_work, names, begin) => {
      for (const name of names()) take(name, begin)
    },
    leave: async () => {
      const all = [...held]
      for (const { lost } of all) lost.abort()
      await Promise.all(all.map(({ work }) => work))
    },
  }
}
