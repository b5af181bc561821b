import { namesToAcquire, namesToGiveUp, type Situation } from './allocation.js'
import type { OwnLeases, Share } from './own-leases.js'
import type { LeaseRecord, LeaseRecords, LeaseTable } from './lease-records.js'
import type { InstanceRecord, Instances, InstanceStatus } from './instances.js'

type RebalancingPorts = {
  readonly instance: string
  readonly instances: Pick<Instances, 'observe' | 'remove'>
  readonly leases: LeaseRecords
  readonly own: OwnLeases
  readonly shares: ReadonlyArray<Share>
  /** Whether the instance may acquire more leases. */
  readonly mayAcquire: () => boolean
}

/**
 * Acquires leases up to the instance's fair share and gives up what is above it, after a heartbeat that was sent at
 * `sentAt` was acknowledged. Throws what the driver throws; the next one then does what this one left.
 */
type Rebalance = (sentAt: number) => Promise<void>

export const rebalancing = ({ instance, instances, leases, own, shares, mayAcquire }: RebalancingPorts): Rebalance => {
  const situationOf = ({ work, names }: Share, living: ReadonlyArray<InstanceRecord>): Situation => ({
    work,
    names: names(),
    instance,
    living,
  })

  /** The leases first: their holders had joined before, so a holder that is not among the instances then is gone. */
  const observe = async (sentAt: number): Promise<InstanceStatus & { readonly table: LeaseTable }> => {
    const table = await leases.read()
    return { table, ...(await instances.observe(sentAt)) }
  }

  /** Begins the work under leases of ours, among them one whose acquisition succeeded although its answer was lost. */
  const beginOwn = ({ current }: LeaseTable): void => {
    for (const record of current.values()) {
      const isOurs = record.holder === instance && !record.released && own.isNew(record)
      const share = isOurs ? shares.find(({ names }) => names().includes(record.name)) : undefined
      if (share !== undefined && mayAcquire()) own.begin(record, share)
    }
  }

  const wantedOf = ({ current }: LeaseTable, living: ReadonlyArray<InstanceRecord>): ReadonlyArray<string> => {
    const alive = new Set(living.map(({ _id }) => _id))
    const isFree = (name: string): boolean => {
      const record = current.get(name)
      return !own.has(name) && (record === undefined || record.released || !alive.has(record.holder))
    }
    return shares.flatMap((share) => {
      const situation = situationOf(share, living)
      return namesToAcquire(situation, situation.names.filter(isFree), own.namesOf(share).length)
    })
  }

  /** Releases what is ours in the records alone, and removes the records that our leases have superseded. */
  const tidy = async ({ current, superseded }: LeaseTable): Promise<void> => {
    const isOursAlone = (record: LeaseRecord): boolean =>
      record.holder === instance && !record.released && !own.has(record.name)
    await leases.release([...current.values()].filter(isOursAlone))
    await leases.remove(superseded.filter(({ name }) => current.get(name)?.holder === instance))
  }

  return async (sentAt) => {
    let observed = await observe(sentAt)
    for (;;) {
      beginOwn(observed.table)
      const wanted = wantedOf(observed.table, observed.living)
      if (wanted.length === 0 || !mayAcquire()) break
      await leases.acquire(wanted, instance, observed.table)
      observed = await observe(sentAt)
    }
    for (const share of shares) {
      const surplus = namesToGiveUp(situationOf(share, observed.living), own.namesOf(share))
      for (const name of surplus) own.giveUp(name)
    }
    await tidy(observed.table)
    await instances.remove(observed.dead)
  }
}
