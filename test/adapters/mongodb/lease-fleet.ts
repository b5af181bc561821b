import assert from 'node:assert/strict'
import type { MongoConnection } from '../../../adapters/mongodb/client/connection.js'
import { mongoMembership } from '../../../adapters/mongodb/leases/membership.js'
import { aborted } from '../../../domain/abortable.js'
import type { Logger } from '../../../domain/ports.js'
import type { Lease, Membership } from '../../../projections/subscriptions/leases.js'
import { manualTime, type ManualTime, type ProcessTime } from '../../kit/time/manual-time.js'
import { inFlight } from '../../kit/stores/mongodb.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'

/** An instance may warn of the loss of its leases, and of nothing else. */
export const leaseLogger: Logger = recordingLogger(({ level, fields, message }) => {
  assert.ok(level !== 'warn' || 'names' in fields, message)
})

/** A process that shares work with the others of its fleet. */
export type Instance = {
  readonly membership: Membership
  readonly monotonic: ProcessTime
  /** Every lease that was ever granted to it. */
  readonly leases: ReadonlyArray<Lease>
  /** The names whose leases are valid by its own clock. */
  readonly leased: () => ReadonlyArray<string>
  /** The names whose work has not ended. */
  readonly worked: () => ReadonlyArray<string>
  /** From now on none of its timers fires. */
  readonly kill: () => void
}

/** Several processes on one database, in one time. */
export type LeaseFleet = {
  readonly connection: MongoConnection
  readonly time: ManualTime
  readonly start: (names: ReadonlyArray<string>, work?: string) => Instance
  readonly advance: (milliseconds: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const numbered = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, n) => `name_${n}`)

export const fleetOn = async (connection: MongoConnection): Promise<LeaseFleet> => {
  for (const name of ['members', 'leases']) await connection.db.collection(name).deleteMany({})
  const instances: Array<Instance> = []
  let ids = 0

  /** At every moment and by every clock each name has one holder at most. */
  const check = (): void => {
    const leased = instances.flatMap((instance) => instance.leased())
    assert.deepEqual(leased.toSorted(), [...new Set(leased)].sort(), 'two hold one name')
  }
  const time = manualTime(inFlight(connection).settled, check)
  return {
    connection,
    time,
    start: (names, work = 'work') => {
      const own = time.process()
      const newId = (): string => `member_${(ids += 1)}`
      const membership = mongoMembership({
        db: connection.db,
        newId,
        logger: leaseLogger,
        monotonic: own,
        lifetime: own.now,
      })
      const leases: Array<Lease> = []
      const worked = new Set<string>()
      membership.share(
        work,
        () => names,
        async (lease) => {
          leases.push(lease)
          worked.add(lease.name)
          await aborted(lease.ending)
          worked.delete(lease.name)
        },
      )
      const instance = {
        membership,
        monotonic: own,
        leases,
        leased: () => leases.filter((lease) => lease.isValid()).map(({ name }) => name),
        worked: () => [...worked].sort(),
        kill: own.freeze,
      }
      instances.push(instance)
      return instance
    },
    advance: time.advance,
    close: async () => {
      for (const { monotonic: own } of instances) own.thaw()
      const left = Promise.all(instances.map(({ membership }) => membership.leave()))
      await time.advance(20_000)
      await left
      await connection.close()
    },
  }
}

/**
 * Advances by tenths of a second until `condition` holds; gives in how many milliseconds it did, infinitely many where
 * it never does.
 */
export const advanceUntil = async (
  { advance, time }: LeaseFleet,
  condition: () => boolean,
  most = 30_000,
): Promise<number> => {
  const start = time.now()
  while (!condition()) {
    if (time.now() - start > most) return Number.POSITIVE_INFINITY
    await advance(100)
  }
  return time.now() - start
}

export const counts = (...instances: ReadonlyArray<Instance>): ReadonlyArray<number> =>
  instances.map((instance) => instance.leased().length)

export const isAllLeased = (names: ReadonlyArray<string>, ...instances: ReadonlyArray<Instance>): boolean =>
  instances.flatMap((instance) => instance.leased()).length === names.length
