import { setMaxListeners } from 'node:events'
import type { Lease, Membership } from '../../../projections/subscriptions/leases.js'
import { tryCatch } from '../failure.js'
import type { LeaseRecord, LeaseRecords } from './lease-records.js'
import type { Liveness } from './liveness.js'

/** A kind of work, as it was passed to `Membership.share`. */
export type Share = {
  readonly work: string
  readonly names: Parameters<Membership['share']>[1]
  readonly begin: Parameters<Membership['share']>[2]
}

/** The leases that a member holds, and the work under them. */
export type HeldLeases = {
  readonly count: () => number
  readonly has: (name: string) => boolean
  /** The names of a share that are held and not about to be given up. */
  readonly namesOf: (share: Share) => ReadonlyArray<string>
  /** Whether this lease was neither begun nor given back here: an old read may still show it as held. */
  readonly isNew: (record: LeaseRecord) => boolean
  /** Begins the work under a lease. */
  readonly hold: (record: LeaseRecord, share: Share) => void
  /** Ends the work under a lease, which is released then. */
  readonly giveUp: (name: string) => void
  /** Resolves when all work has ended. */
  readonly giveUpAll: () => Promise<void>
}

type HeldLease = { readonly share: Share; readonly ending: AbortController; readonly ended: Promise<void> }

/** `liveness`: of the member, whether it may still work under its leases. */
export const heldLeases = (
  records: Pick<LeaseRecords, 'release'>,
  { isAlive, ended: lost }: Pick<Liveness, 'isAlive' | 'ended'>,
): HeldLeases => {
  setMaxListeners(0, lost)
  const held = new Map<string, HeldLease>()
  /** By name, the last token that was given back. */
  const givenBack = new Map<string, number>()

  const begin = (record: LeaseRecord, share: Share): HeldLease => {
    const { name, token } = record
    const ending = new AbortController()
    // All the work under a lease listens to it: more listeners than Node's limit are no leak here.
    setMaxListeners(0, ending.signal)
    let hasEnded = false
    const work = async (lease: Lease): Promise<void> => {
      await share.begin(lease)
      hasEnded = true
      ending.abort()
      givenBack.set(name, token)
      // A release that fails is made up for by the next rebalancing.
      if (isAlive()) await tryCatch(() => records.release(record))
      held.delete(name)
    }
    const isHeld = (): boolean => isAlive() && !hasEnded
    return { share, ending, ended: work({ name, isHeld, ending: ending.signal, lost }) }
  }

  return {
    count: () => held.size,
    has: (name) => held.has(name),
    namesOf: (share) =>
      [...held].filter(([, one]) => one.share === share && !one.ending.signal.aborted).map(([name]) => name),
    isNew: ({ name, token }) => !held.has(name) && token > (givenBack.get(name) ?? 0),
    hold: (record, share) => {
      held.set(record.name, begin(record, share))
    },
    giveUp: (name) => held.get(name)?.ending.abort(),
    giveUpAll: async () => {
      const all = [...held.values()]
      for (const { ending } of all) ending.abort()
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}
