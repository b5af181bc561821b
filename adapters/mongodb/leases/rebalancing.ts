import { namesToAcquire, namesToGiveUp, type Situation } from './allocation.js'
import type { HeldLeases, Share } from './held-leases.js'
import type { LeaseRecords, LeaseTable } from './lease-records.js'
import type { MemberRecord, Members, MemberStatus } from './members.js'

type RebalancingPorts = {
  readonly member: string
  readonly members: Pick<Members, 'observe' | 'remove'>
  readonly leases: LeaseRecords
  readonly held: HeldLeases
  readonly shares: ReadonlyArray<Share>
  /** Whether the member may acquire more leases. */
  readonly mayAcquire: () => boolean
}

/**
 * Acquires leases up to the member's fair share and gives up what is above it, after a heartbeat that was sent at `sentAt` was
 * acknowledged. Throws what the driver throws; the next one then does what this one left.
 */
type Rebalance = (sentAt: number) => Promise<void>

export const rebalancing = ({ member, members, leases, held, shares, mayAcquire }: RebalancingPorts): Rebalance => {
  const situationOf = ({ work, names }: Share, living: ReadonlyArray<MemberRecord>): Situation => ({
    work,
    names: names(),
    member,
    living,
  })

  /** The leases first: their holders had joined before, so a holder that is not among the members then is gone. */
  const observe = async (sentAt: number): Promise<MemberStatus & { readonly table: LeaseTable }> => {
    const table = await leases.read()
    return { table, ...(await members.observe(sentAt)) }
  }

  /** Begins the work under leases of ours, among them one whose acquisition succeeded although its answer was lost. */
  const holdOwn = ({ current }: LeaseTable): void => {
    for (const record of current.values()) {
      const isOurs = record.holder === member && !record.released && held.isNew(record)
      const share = isOurs ? shares.find(({ names }) => names().includes(record.name)) : undefined
      if (share !== undefined && mayAcquire()) held.hold(record, share)
    }
  }

  const wantedOf = ({ current }: LeaseTable, living: ReadonlyArray<MemberRecord>): ReadonlyArray<string> => {
    const alive = new Set(living.map(({ _id }) => _id))
    const isFree = (name: string): boolean => {
      const record = current.get(name)
      return !held.has(name) && (record === undefined || record.released || !alive.has(record.holder))
    }
    return shares.flatMap((share) => {
      const situation = situationOf(share, living)
      return namesToAcquire(situation, situation.names.filter(isFree), held.namesOf(share).length)
    })
  }

  /** Releases what is ours and not held, and removes the records that our leases have superseded. */
  const tidy = async ({ current, superseded }: LeaseTable): Promise<void> => {
    for (const record of current.values()) {
      if (record.holder === member && !record.released && !held.has(record.name)) await leases.release(record)
    }
    await leases.remove(superseded.filter(({ name }) => current.get(name)?.holder === member))
  }

  return async (sentAt) => {
    let observed = await observe(sentAt)
    for (;;) {
      holdOwn(observed.table)
      const wanted = wantedOf(observed.table, observed.living)
      if (wanted.length === 0 || !mayAcquire()) break
      await leases.acquire(wanted, member, observed.table)
      observed = await observe(sentAt)
    }
    for (const share of shares) {
      const surplus = namesToGiveUp(situationOf(share, observed.living), held.namesOf(share))
      for (const name of surplus) held.giveUp(name)
    }
    await tidy(observed.table)
    await members.remove(observed.dead)
  }
}
