import type { Db } from 'mongodb'
import { neverAborted } from '../../../domain/abortable.js'
import type { Logger, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Membership } from '../../../projections/subscriptions/leases.js'
import { lifetime as lifetimeOfProcess } from '../../node/lifetime.js'
import { monotonicClock } from '../../node/monotonic-clock.js'
import { attemptOn } from '../client/attempt.js'
import type { Share } from './own-leases.js'
import { leaseRecordsIn } from './lease-records.js'
import { standardTiming, type Timing } from './liveness.js'
import { liveAs } from './instance.js'
import { instancesIn, type Instances } from './instances.js'

type MongoMembershipPorts = {
  readonly db: Db
  /** A fresh one at each call. */
  readonly newId: () => string
  readonly logger: Logger
  readonly monotonic?: MonotonicClock
  /** Milliseconds that count against the leases of this process: they go on while its machine is paused. */
  readonly lifetime?: () => number
  readonly timing?: Timing
}

/**
 * The `Membership` of one of several processes that share a database. It joins with the first work that is shared, and
 * joins anew under another id whenever no heartbeat of it was acknowledged in time.
 */
export const mongoMembership = ({
  db,
  newId,
  logger,
  monotonic = monotonicClock,
  lifetime = lifetimeOfProcess,
  timing = standardTiming,
}: MongoMembershipPorts): Membership => {
  const shares: Array<Share> = []
  const stopping = new AbortController()
  const instances = instancesIn(db, monotonic, timing.lease)
  const leases = leaseRecordsIn(db)
  const attempt = attemptOn(db)
  /**
   * Ids under which this process joined, or may have: before it joins under another one, all work under them has ended,
   * and once they are removed their leases are free. It joins under no further one until then, so they are few however
   * long the server is away.
   */
  let formerIds: ReadonlyArray<string> = []
  let running: Promise<void> | undefined

  const join = async (id: string, givenUp: AbortSignal): Promise<void> => {
    const former = formerIds
    await instances.remove(former)
    if (givenUp.aborted) return
    formerIds = [...formerIds.filter((one) => !former.includes(one)), id]
    await instances.join(
      id,
      shares.map(({ work }) => work),
    )
  }
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const id = newId()
      const sent = { at: monotonic.now(), inLife: lifetime() }
      const joined = await attempt((givenUp) => join(id, givenUp))
      if (E.isRight(joined))
        await liveAs(id, sent, {
          attempt,
          instances,
          leases,
          shares,
          stopping: stopping.signal,
          monotonic,
          lifetime,
          timing,
          logger,
        })
      else await monotonic.sleep(timing.heartbeatEvery, stopping.signal)
    }
    await attempt(() => instances.remove(formerIds))
  }
  return {
    share: (work, names, begin) => {
      shares.push({ work, names, begin })
      // On the next turn of the event loop, so that the join names everything that is shared on this one.
      running ??= Promise.resolve().then(run)
    },
    isDoneElsewhere: (work) => attempt(() => isDoneByAny(work, { instances, monotonic, timing })),
    leave: async () => {
      stopping.abort()
      await running
    },
  }
}

/** One that was killed a moment ago looks alive until its heartbeat has not changed for as long as a lease lasts. */
const isDoneByAny = async (
  work: string,
  {
    instances: { observe },
    monotonic: { now, sleep },
    timing,
  }: { readonly instances: Pick<Instances, 'observe'>; readonly monotonic: MonotonicClock; readonly timing: Timing },
): Promise<boolean> => {
  const doing = async () => (await observe(now())).living.filter((one) => one.work.includes(work))
  let living = await doing()
  const heartbeats = new Map(living.map(({ _id, heartbeat }) => [_id, heartbeat]))
  while (living.length > 0) {
    await sleep(timing.heartbeatEvery, neverAborted)
    living = await doing()
    if (living.some(({ _id, heartbeat }) => heartbeats.get(_id) !== heartbeat)) return true
  }
  return false
}
