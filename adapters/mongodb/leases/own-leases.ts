import { setMaxListeners } from 'node:events'
import type { Lease, Membership } from '../../../projections/subscriptions/leases.js'
import type { LeaseRecord } from './lease-records.js'
import type { Liveness } from './liveness.js'
import type { Release } from './releases.js'

/** A kind of work, as it was passed to `Membership.share`. */
export type Share = {
  readonly work: string
  readonly names: Parameters<Membership['share']>[1]
  readonly begin: Parameters<Membership['share']>[2]
}

/** The leases that an instance holds, and the work under them. */
export type OwnLeases = {
  readonly count: () => number
  readonly has: (name: string) => boolean
  /** The names of a share that are leased here and not about to be given up. */
  readonly namesOf: (share: Share) => ReadonlyArray<string>
  /** Whether this lease was neither begun nor given back here: an old read may still show it as ours. */
  readonly isNew: (record: LeaseRecord) => boolean
  /** Begins the work under a lease. */
  readonly begin: (record: LeaseRecord, share: Share) => void
  /** Ends the work under a lease, which is released then. */
  readonly giveUp: (name: string) => void
  /** Resolves when all work has ended. */
  readonly giveUpAll: () => Promise<void>
}

type OwnLease = { readonly share: Share; readonly ending: AbortController; readonly ended: Promise<void> }

/** `liveness`: of the instance, whether it may still work under its leases. */
export const ownLeases = (
  release: Release,
  { isAlive, ended: lost }: Pick<Liveness, 'isAlive' | 'ended'>,
): OwnLeases => {
  setMaxListeners(0, lost)
  const own = new Map<string, OwnLease>()
  /** By name, the last token that was given back. */
  const givenBack = new Map<string, number>()

  const beginWork = (record: LeaseRecord, share: Share): OwnLease => {
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
      if (isAlive()) await release(record)
      own.delete(name)
    }
    const isValid = (): boolean => isAlive() && !hasEnded
    return { share, ending, ended: work({ name, isValid, ending: ending.signal, lost }) }
  }

  return {
    count: () => own.size,
    has: (name) => own.has(name),
    namesOf: (share) =>
      [...own].filter(([, one]) => one.share === share && !one.ending.signal.aborted).map(([name]) => name),
    isNew: ({ name, token }) => !own.has(name) && token > (givenBack.get(name) ?? 0),
    begin: (record, share) => {
      own.set(record.name, beginWork(record, share))
    },
    giveUp: (name) => own.get(name)?.ending.abort(),
    giveUpAll: async () => {
      const all = [...own.values()]
      for (const { ending } of all) ending.abort()
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}
