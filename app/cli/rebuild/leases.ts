import { aborted } from '../../../domain/abortable.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Lease, Membership } from '../../../projections/subscriptions/leases.js'

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

/** In milliseconds: longer than it takes to notice that the former holder of the leases is gone. */
const longestWait = 10_000

const work = 'projector'

/** Whether another process that lives maintains read models: asked before this one takes a share of the leases. */
export const areMaintainedElsewhere = async ({
  isDoneElsewhere,
}: Pick<Membership, 'isDoneElsewhere'>): Promise<boolean> => orThrow(await isDoneElsewhere(work))

export const leasesOn = ({ share }: Pick<Membership, 'share'>, names: ReadonlyArray<string>): Leases => {
  const leased = new Map<string, Lease>()
  const acquired = new Promise<boolean>((resolve) => {
    const timeout = setTimeout(resolve, longestWait, false)
    share(
      work,
      () => names,
      async (lease) => {
        leased.set(lease.name, lease)
        if (leased.size === names.length) {
          clearTimeout(timeout)
          resolve(true)
        }
        await aborted(lease.ending)
        leased.delete(lease.name)
      },
    )
  })
  return {
    acquired,
    held: () => {
      const now = [...leased.values()]
      return { isValid: () => now.length === names.length && now.every((lease) => lease.isValid()) }
    },
  }
}
