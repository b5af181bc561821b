import type { Db } from 'mongodb'
import type { Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Membership } from '../../../projections/subscriptions/leases.js'
import { tried } from '../failure.js'
import { beatsIn } from './members.js'
import { leaseRecordsIn } from './lease-records.js'
import { liveAs, standardTiming, type Share, type Timing } from './member.js'
import type { Time } from '../../../domain/ports.js'
import { monotonicTime } from '../../node/monotonic-time.js'

export type MongoMembershipPorts = {
  readonly db: Db
  /** A fresh one at each call. */
  readonly newId: () => string
  readonly logger: Logger
  readonly time?: Time
  readonly timing?: Timing
}

/**
 * The `Membership` of one process of several that share a database. It joins with the first work, and joins anew under another
 * id whenever it could not tell the others in time that it lives.
 */
export const mongoMembership = ({
  db,
  newId,
  logger,
  time = monotonicTime,
  timing = standardTiming,
}: MongoMembershipPorts): Membership => {
  const shares: Array<Share> = []
  const leaving = new AbortController()
  const beats = beatsIn(db, time, timing.lease)
  const leases = leaseRecordsIn(db)
  /** Ids of ours under which nothing is done any more: what they held is free when they are gone. */
  let former: ReadonlyArray<string> = []
  let running: Promise<void> | undefined

  const join = async (id: string): Promise<void> => {
    await beats.remove(former)
    former = []
    await beats.join(
      id,
      shares.map(({ work }) => work),
    )
  }
  const run = async (): Promise<void> => {
    while (!leaving.signal.aborted) {
      const id = newId()
      const sentAt = time.now()
      const joined = await tried(() => join(id))
      former = [...former, id]
      if (E.isRight(joined))
        await liveAs(id, sentAt, { beats, leases, shares, leaving: leaving.signal, time, timing, logger })
      else await time.sleep(timing.beatEvery, leaving.signal)
    }
    await tried(() => beats.remove(former))
  }
  return {
    share: (work, names, begin) => {
      shares.push({ work, names, begin })
      // On the next turn, so that the others are told at once of all that is shared on this one.
      running ??= Promise.resolve().then(run)
    },
    leave: async () => {
      leaving.abort()
      await running
    },
  }
}
