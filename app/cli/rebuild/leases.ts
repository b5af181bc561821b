import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { aborted, withinLimit } from '../../../domain/abortable.js'
import { orThrow } from '../../../domain/store-failed.js'
import { longestTakeover, type Lease, type Membership } from '../../../projections/subscriptions/leases.js'

/** The leases on read models, under which nobody else writes to them. */
export type Leases = {
  /** Whether this process got all of them. */
  readonly acquired: Promise<boolean>
  /**
   * All of them as this process holds them now: not valid from when one of them is lost, though it may be acquired
   * anew.
   */
  readonly held: () => Pick<Lease, 'isValid'>
}

const work = 'projector'

/** Whether another process that lives maintains read models: asked before this one takes a share of the leases. */
export const areMaintainedElsewhere = async ({
  isDoneElsewhere,
}: Pick<Membership, 'isDoneElsewhere'>): Promise<boolean> => orThrow(await isDoneElsewhere(work))

export const leasesOn = ({ share }: Pick<Membership, 'share'>, names: ReadonlyArray<string>): Leases => {
  const leased = new Map<string, Lease>()
  const shared = new Promise<boolean>((resolve) => {
    share(
      work,
      () => names,
      async (lease) => {
        leased.set(lease.name, lease)
        if (leased.size === names.length) resolve(true)
        await aborted(lease.ending)
        leased.delete(lease.name)
      },
    )
  })
  return {
    acquired: withinLimit(monotonicClock, longestTakeover, () => shared).then((all = false) => all),
    held: () => {
      const now = [...leased.values()]
      return { isValid: () => now.length === names.length && now.every((lease) => lease.isValid()) }
    },
  }
}
